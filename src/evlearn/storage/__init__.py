"""Files without pickle: fields of stored classes, their encoding, archives, checkpoints and partitions."""
