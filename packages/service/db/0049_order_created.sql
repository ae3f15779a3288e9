-- Orders that are placed from here on are told of as `order.created`; infinity: none is.
alter table event_publisher
  add column order_created_from timestamptz not null default '-infinity';
