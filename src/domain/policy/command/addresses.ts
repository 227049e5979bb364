/** Addresses in the arguments of a tool: their hosts, and whether these are of the machine or of a private network. */

export interface Address {
  url: string
  /** In lower case, without the colon. */
  scheme: string
  /** In lower case, an IPv6 address without brackets; empty if it has none. */
  host: string
  /** -1 if it names none. */
  port: number
  /** The host is the machine itself, or of a private network; so are the metadata of a cloud. */
  private: boolean
}

const maxAddresses = 1_000
const keys = /^(?:url|uri|href|link|endpoint|address|webhook|callback|host|hostname|base_?url|target_?url|origin)s?$/i
const inText =
  /\b(?:https?|wss?|ftps?|sftp|ssh|file|gopher|ldaps?|redis|postgres(?:ql)?|mysql|mongodb(?:\+srv)?):\/\/[^\s"'<>`\\|{}]+/gi

const privateV4 = (a: number, b: number): boolean =>
  a === 0 ||
  a === 10 ||
  a === 127 ||
  (a === 100 && b >= 64 && b < 128) ||
  (a === 169 && b === 254) ||
  (a === 172 && b >= 16 && b < 32) ||
  (a === 192 && b === 168) ||
  (a === 198 && (b === 18 || b === 19))

const privateName = /^(?:.*\.)?(?:localhost|local|internal|intranet|lan|home\.arpa|corp|private)\.?$/
/** Names that lead to any address, and to the one that is written in them. */
const namedAfterAddress = /(?:^|[.-])(\d{1,3}[.-]\d{1,3}[.-]\d{1,3}[.-]\d{1,3})\.(?:nip\.io|sslip\.io|xip\.io)$/

function isPrivate(host: string): boolean {
  if (host === '') return false
  const written = namedAfterAddress.exec(host)?.[1]?.replaceAll('-', '.') ?? host
  const v4 = /^(\d{1,3})\.(\d{1,3})\.\d{1,3}\.\d{1,3}$/.exec(written)
  if (v4) return privateV4(Number(v4[1]), Number(v4[2]))
  if (!host.includes(':')) return privateName.test(host) || !host.includes('.')
  if (host === '::' || host === '::1' || /^(?:f[cd]|fe[89ab])/.test(host)) return true
  // An address of IPv4 inside one of IPv6: mapped, or of a translation.
  const inner = /^(?:::ffff:|::ffff:0:|64:ff9b::|::)([\da-f]{1,4}):([\da-f]{1,4})$/.exec(host)
  if (inner === null) return false
  const high = Number.parseInt(inner[1]!, 16)
  return privateV4(high >> 8, high & 255)
}

/** An address as the rules of the web read it; null if it is none. */
export function addressOf(text: string): Address | null {
  const trimmed = text.trim()
  const full =
    /^[a-z][a-z\d+.-]*:/i.test(trimmed) && !/^[\w.-]+:\d+(?:[/?#]|$)/.test(trimmed) ? trimmed : `https://${trimmed}`
  if (!URL.canParse(full)) return null
  const { protocol, port } = new URL(full)
  const scheme = protocol.slice(0, -1)
  // Hosts of other schemes are not brought into their plain form, in which 0x7f.1 is 127.0.0.1.
  const asWeb = full.replace(/^[a-z][a-z\d+.-]*:/i, 'https:')
  const { hostname } = new URL(/^https?$/.test(scheme) || !full.includes('//') || !URL.canParse(asWeb) ? full : asWeb)
  const host = hostname
    .replace(/^\[|\]$/g, '')
    .toLowerCase()
    .replace(/\.$/, '')
  return { url: trimmed, scheme, host, port: port === '' ? -1 : Number(port), private: isPrivate(host) }
}

const maxLevels = 24

/** An address in a sentence, without what ends the sentence. */
function withoutEnd(text: string): string {
  let end = text.length
  while (end > 0 && '.,;:!?)]'.includes(text[end - 1]!)) end--
  return text.slice(0, end)
}

/** The addresses in a value: what its keys name as one, and those in any text. */
export function addressesIn(input: unknown): { addresses: Address[]; opaque: boolean } {
  const found = new Map<string, Address>()
  let opaque = false
  const add = (text: string) => {
    const one = addressOf(text)
    if (one === null) return
    if (found.size >= maxAddresses) opaque = true
    else found.set(one.url, one)
  }
  const visit = (value: unknown, key: string, level: number): void => {
    if (typeof value === 'string') {
      const text = value.trim()
      if (keys.test(key) && text !== '' && !/\s/.test(text)) add(text)
      else for (const [one] of text.matchAll(inText)) add(withoutEnd(one))
    } else if (value !== null && typeof value === 'object') {
      if (level > maxLevels) opaque = true
      else if (Array.isArray(value)) for (const one of value) visit(one, key, level + 1)
      else for (const [name, one] of Object.entries(value)) visit(one, name, level + 1)
    }
  }
  visit(input, '', 0)
  return { addresses: [...found.values()], opaque }
}
