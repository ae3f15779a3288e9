-- kind: expand
-- The check of the books that goes on from a seal looks at the deposits and at the uses of the last
-- days, which stand together in their tables: a few pages say where.

create index deposit_by_time on deposit using brin (block_time) with (pages_per_range='16',
  autosummarize='on');
create index subscription_use_by_time on subscription_use using brin (used_at)
  with (pages_per_range='16', autosummarize='on');
