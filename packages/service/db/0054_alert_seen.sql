-- Who has seen to an alert that is still raised.

alter table alert
  add seen_at timestamptz,
  add seen_by text,
  add constraint alert_seen check ((seen_at is null) = (seen_by is null));
