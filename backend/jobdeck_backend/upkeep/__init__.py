"""Looking after what is stored: retention, backups, and bundles for whoever has to find out what happened."""
