"""Intel's extension of PyTorch: the torch engine, its model and optimizer handed to IPEX."""
