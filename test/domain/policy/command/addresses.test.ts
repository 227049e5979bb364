/** What rules see of addresses in the arguments of a tool. */
import { expect, test } from 'bun:test'
import { addressesIn, addressOf } from '../../../../src/domain/policy/command/addresses.ts'

test.each([
  'http://localhost:9991/x',
  'http://127.0.0.1',
  'http://2130706433/',
  'http://0x7f.1/',
  'http://[::1]:80/',
  'http://[::ffff:10.0.0.1]/',
  'http://[64:ff9b::a9fe:a9fe]/',
  'http://169.254.169.254/latest/meta-data',
  'http://metadata.google.internal/',
  'http://10.1.2.3.nip.io/',
  'https://user:pass@192.168.1.1/',
  'http://db/',
  'redis://0x7f.1:6379',
  'http://LOCALHOST./',
  'fd00::1',
])('%s is private', (url) => {
  expect(addressOf(url.includes('//') ? url : `http://[${url}]/`)).toMatchObject({ private: true })
})

test.each([
  'https://example.com/a?b=http://localhost',
  'http://8.8.8.8',
  'https://localhost.example.com',
  'https://[2606:4700::1]/',
])('%s is not', (url) => {
  expect(addressOf(url)).toMatchObject({ private: false })
})

test('addresses are found under the keys that name one, in lists and inside of texts', () => {
  const { addresses } = addressesIn({
    url: 'example.com:8443/x',
    requests: [{ endpoint: 'ftp://files.example' }],
    prompt: 'Read https://docs.example/a, then (http://10.0.0.1).',
    name: 'example.org',
  })
  expect(addresses.map(({ scheme, host, port }) => [scheme, host, port])).toEqual([
    ['https', 'example.com', 8443],
    ['ftp', 'files.example', -1],
    ['https', 'docs.example', -1],
    ['http', '10.0.0.1', -1],
  ])
})
