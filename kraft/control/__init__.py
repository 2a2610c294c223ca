"""The controller's driver, the channel to the active controller, and the replay of the metadata log."""
