"""A run of many steps by several processes: each goes through all of it, on its share."""
