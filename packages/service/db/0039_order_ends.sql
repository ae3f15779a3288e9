-- When the last part of an order was taken back. What is activated only has nothing to take back.
alter table orders add column ended_at timestamptz;

update orders as o set ended_at = d.reclaimed_at
from (
  select order_id, max(reclaimed_at) as reclaimed_at from delegation where state <> 'failed'
  group by order_id having bool_and(state = 'ended')
) as d
where o.id = d.order_id and o.state = 'success';

create index orders_not_ended on orders (created_at)
  where state = 'success' and ended_at is null and energy + bandwidth > 0;

-- For what is not kept any more.
create index notice_by_time on notice (due_at);
