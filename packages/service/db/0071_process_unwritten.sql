-- kind: expand
-- Since when a process cannot write down in its data folder what the database has acknowledged.
alter table process add column unwritten_since timestamptz;
