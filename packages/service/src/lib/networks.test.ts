import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isListed, isNetwork, networkList, networkOf } from './networks.ts'

test('IPv4 counts by address, however it is written, and IPv6 by /64', () => {
  const same: [string, string][] = [
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001:DB8:0001:2::9', '2001:db8:1:2::/64'],
    ['2001:db8::9', '2001:db8:0:0::/64'],
    ['2001:db8::4:5:6:7:8', '2001:db8:0:4::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::203.0.113.7', '64:ff9b:0:0::/64'],
    ['1:2:3:4:5:6:203.0.113.7', '1:2:3:4::/64'],
    ['', ''],
  ]
  for (const [ip, network] of same) assert.equal(networkOf(ip), network, ip)
})

test('a list has the addresses of its networks and no others', () => {
  const list = networkList(['203.0.113.0/24', '198.51.100.7', '2001:db8::/32'])
  const has = (ip: string) => isListed(list, ip)
  assert.ok(['203.0.113.200', '::ffff:203.0.113.1', '198.51.100.7', '2001:db8::1'].every(has))
  assert.ok(!['203.0.114.1', '198.51.100.8', '2001:db9::1', 'somewhere', ''].some(has))
})

test('what is neither an address nor a network is told apart', () => {
  assert.ok(['1.2.3.4', '1.2.3.0/24', '::/0', '2001:db8::/128'].every(isNetwork))
  const none = ['', '1.2.3', '1.2.3.4/33', '1.2.3.4/', '1.2.3.4/8/8', '::/129', 'x/8', '1.2.3.4/-1']
  assert.ok(!none.some(isNetwork))
})
