-- What runs and does not rest is not withdrawn, and what is withdrawn holds nothing. One that rested,
-- was woken and was stopped before its next supply was noted kept both: nobody looked for what was
-- held for it. Such a one is looked at again, and given back what is held.

update subscription set withdrawn = false
where withdrawn
  and (holds_made > holds_ended or (resting is null and state in ('new', 'pending', 'active')));

alter table subscription add constraint subscription_withdrawn
  check (not withdrawn or (holds_made = holds_ended
    and (resting is not null or state in ('stopped', 'expired', 'error'))));
