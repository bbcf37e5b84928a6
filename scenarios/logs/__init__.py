"""Logs, read and written: whatever the format, named tables of columns with stamps; and flights taken down as logs.

tables (arrow_tables, text_header, array_tables, message_tables, trajectories) -> clock        read
log_writer, trajectories <- recorder (attitude_recorder, pose_recorder)           written
"""
