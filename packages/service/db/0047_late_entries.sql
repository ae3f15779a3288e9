-- The last entry of the ledger that was looked at for summaries. One that is written later, with a
-- time before `until`, makes its account be summarised anew from then on.
alter table summary_progress add column entry bigint not null default 0;
update summary_progress set entry = coalesce((select max(last_entry) from journal), 0);
