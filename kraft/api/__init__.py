"""The APIs of the listeners: one file per API, the tables of what is served, and forwarding to the controller."""
