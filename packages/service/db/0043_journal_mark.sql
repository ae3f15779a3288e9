-- Up to which number the ledger's entries may be sealed, and the transactions that wrote entries
-- when it was looked: the journal goes on when they have ended. It is a row, because its commit
-- takes the sequence of the numbers along to a standby and to the disk: a server that has the mark
-- gives none of the numbers below it a second time.
create table journal_mark (
  one         boolean not null default true,
  last_entry  bigint not null,
  writers     text[] not null,                     -- virtual transactions of the server
  made_at     timestamptz not null,
  constraint journal_mark_pkey primary key (one),
  constraint journal_mark_has_one_row check (one),
  constraint journal_mark_entry check (last_entry >= 0)
);
