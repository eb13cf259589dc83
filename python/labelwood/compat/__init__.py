"""Other packages' interfaces over labelwood's models."""
