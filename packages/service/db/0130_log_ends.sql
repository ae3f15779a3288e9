-- kind: expand
-- What other statements may know of the log of transfers: its ends, and the times of its blocks.
-- All else is asked of the log itself, so that its rows can lie elsewhere.
create view flow_log_ends with (security_invoker) as
  select (select number from flow_block order by number limit 1) as first_number,
    (select time from flow_block order by number limit 1) as first_time,
    (select number from flow_block order by number desc limit 1) as last_number;
create view flow_log_time with (security_invoker) as
  select number, time from flow_block;

grant select on flow_log_ends, flow_log_time
  to penstock_api, penstock_worker, penstock_admin, penstock_read;
