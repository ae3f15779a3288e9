-- What was written in the ledger stays as it was written, and whoever has noted a sum can prove it.
--
-- Entries get a number as they are inserted. A step seals them behind the writers, in order: a row of journal covers the
-- entries of a range of numbers and has the SHA-256 of them all, of the row before and of the operators' records so far.
-- So placing an order does no hashing and waits for nobody, and a sealed entry that is changed, taken out or put in later
-- shows. The last sum of a day is its root.

-- A block-range index: entries are never moved, so their numbers rise with their place, and the index costs an insert
-- next to nothing.
alter table transfer add column number bigint generated always as identity;
create index transfer_by_number on transfer using brin (number) with (pages_per_range = 16, autosummarize = on);

create table journal (
  number      bigint not null,                     -- 1, 2, 3, …
  first_entry bigint not null,                     -- the range of transfer.number that it covers; numbers may be missing,
  last_entry  bigint not null,                     -- of transactions that were rolled back
  entries     bigint not null,
  actions     bigint not null,                     -- the last of the operators' records by then, 0: none
  sealed_at   timestamptz not null,
  sha256      text not null,
  constraint journal_pkey primary key (number),
  constraint journal_range check (number > 0 and first_entry <= last_entry and entries between 0 and last_entry - first_entry + 1)
);

-- An entry as text that no other entry has: lengths come first. Times go in as microseconds: as text they would depend on
-- the session's time zone. (A row as text would do, and takes ten times as long.)
create function entry_text(of transfer) returns text language sql stable as $$
  select concat_ws(' ', of.number, of.kind, of.amount_sun, encode(timestamptz_send(of.made_at), 'hex'), length(of.id),
                   length(of.debit), length(of.credit), coalesce(length(of.hold_id), -1), of.id, of.debit, of.credit, of.hold_id)
$$;

create function journal_sum(of journal, previous text, record text, entries text) returns text language sql stable as $$
  select encode(sha256(convert_to(row(previous, of.number, of.first_entry, of.last_entry, of.entries, of.actions,
    encode(timestamptz_send(of.sealed_at), 'hex'), record, entries)::text, 'UTF8')), 'hex')
$$;

create trigger journal_is_append_only before update or delete on journal
  for each row execute function refuse_change();
create trigger journal_is_not_truncated before truncate on journal
  for each statement execute function refuse_change();

-- The triggers refuse whoever asks; that nobody is allowed to ask is the second lock. A foreign key of transfer on itself
-- needs the right to lock its rows, which is the right to update any column: this one always has its own value.
revoke update, delete, truncate on transfer, journal, operator_action from public, current_user;
grant update (number) on transfer to current_user;

-- What the last scheduled check of the books has found. A finding that the check before did not have takes everything off
-- sale; an operator puts it on sale again, and the same finding does not stop it a second time.
create table books_finding (
  rule        text not null,
  subject     text not null,
  found       text not null,
  found_at    timestamptz not null,                -- by the first check that found it
  constraint books_finding_pkey primary key (rule, subject, found)
);

-- The last scheduled check, and when the next one is due.
create table books_check (
  one           boolean not null default true,
  checked_at    timestamptz not null,
  due_at        timestamptz not null,
  constraint books_check_pkey primary key (one),
  constraint books_check_has_one_row check (one)
);

-- The root of each day: the last sum sealed in it, which stands for every entry and record until then.
create view journal_root as
  select distinct on (day) day, number, last_entry, sealed_at, sha256
  from (select (sealed_at at time zone 'UTC')::date as day, journal.* from journal) as seal
  order by day, number desc;
