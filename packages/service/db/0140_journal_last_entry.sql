-- kind: expand
-- How far is sealed is asked at each look, by max(last_entry): one row by this index.
create index journal_last_entry on journal (last_entry);
