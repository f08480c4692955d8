"""The only folder that imports distributed: processes, epochs, dispatch, execution."""
