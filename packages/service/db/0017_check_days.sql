-- Checks are counted by the day (UTC) that they were asked on, so that a page far from both ends of a long history is found
-- by its day and not by skipping over millions.
delete from aml_count_delta;
delete from aml_count;
alter table aml_count drop constraint aml_count_pkey;
alter table aml_count add column day date not null;
alter table aml_count add constraint aml_count_pkey primary key (customer_id, day, state);
alter table aml_count_delta add column day date not null;
insert into aml_count (customer_id, day, state, n)
select customer_id, (created_at at time zone 'UTC')::date, state, count(*) from aml_check group by 1, 2, 3;
