"""The verb `claims`: pairs of experiments that decide what others claimed."""
