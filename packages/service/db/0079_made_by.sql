-- kind: expand
-- Whose key (that of a user has the id of the user) has let a program, a person or a receiver in,
-- so that whoever ends that key sees what else to end. A key says who made it since 0040; here is
-- who was shown its newest secret, which another may have been.
alter table api_key add column secret_by_key text;
alter table api_key add constraint api_key_secret_by_key
  foreign key (secret_by_key) references api_key (id);
-- Who was shown a link.
alter table user_link add column made_by_key text;
alter table user_link add constraint user_link_made_by_key
  foreign key (made_by_key) references api_key (id);
-- Who has made a webhook, or has last said where it calls.
alter table webhook add column made_by_key text;
alter table webhook add constraint webhook_made_by_key
  foreign key (made_by_key) references api_key (id);
grant select (secret_by_key) on api_key to penstock_read;

-- As far as the record of the customer says it.
with made as (
  select distinct on (a.subject) a.subject, split_part(a.made_by, ':', 2) as key_id
  from customer_action as a
  where a.action = 'webhook/new'
    or a.action = 'webhook/change' and a.after ? 'url_changed'
    or a.action = 'key/rotate'
  order by a.subject, a.number desc
), webhooks as (
  update webhook as w set made_by_key = made.key_id
  from made join api_key as k on k.id = made.key_id where made.subject = 'webhook:' || w.id
)
update api_key as a set secret_by_key = made.key_id
from made join api_key as k on k.id = made.key_id where made.subject = 'key:' || a.id;
