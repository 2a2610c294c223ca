"""Requests that are as heavy as the protocol allows, and a neighbour that must not feel them. See ``attacks``."""
