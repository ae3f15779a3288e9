-- kind: expand
-- Webhooks that may have calls to make: for what their customers' logs have beyond their places, or
-- for a notice that is due, now or later. Notices are looked for webhook by webhook along their
-- index: a webhook that has many of them, or none, costs one step.
create view webhook_to_tell with (security_invoker) as
  with recursive waiting (webhook_id) as (
    (select n.webhook_id from notice as n where n.state = 'due' order by n.webhook_id limit 1)
    union all
    select (
      select n.webhook_id from notice as n
      where n.state = 'due' and n.webhook_id > waiting.webhook_id
      order by n.webhook_id limit 1)
    from waiting where waiting.webhook_id is not null)
  select webhook_id from waiting where webhook_id is not null
  union all
  select w.id from webhook as w join event_counter as c on c.customer_id = w.customer_id
  where w.state = 'on' and w.position < c.last_number;
grant select on webhook_to_tell
  to penstock_api, penstock_worker, penstock_admin, penstock_read;
