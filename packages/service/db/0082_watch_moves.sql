-- kind: expand
-- Watched addresses are screened again when money moves: the newest solid block that moved some to
-- or from the address.
alter table aml_watch add column moved_number bigint;
