/** Shapes of secrets inside texts: one row a kind. A text is masked so that the kind and the last four characters stay. */

export interface SecretShape {
  kind: string
  /** Global; bounded, so that no crafted text is walked again and again. Its match is the secret alone. */
  shape: RegExp
  /** A literal that every such secret holds: most texts have none, and are not searched. */
  hint: string
  /** Nothing else looks like it: a record that holds one is refused. */
  certain: boolean
}

const row = (kind: string, hint: string, shape: RegExp, certain = true): SecretShape => ({ kind, hint, shape, certain })
const loose = false

/** The certain ones first: what they have masked no later row changes. */
export const secretShapes: readonly SecretShape[] = [
  row(
    'private-key',
    'PRIVATE KEY',
    /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g,
  ),
  row('age-key', 'AGE-SECRET-KEY-1', /\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b/g),
  row('github-token', 'gh', /\bgh[pousr]_[A-Za-z0-9]{36,255}\b/g),
  row('github-token', 'github_pat_', /\bgithub_pat_[A-Za-z0-9_]{60,255}\b/g),
  row('gitlab-token', 'glpat-', /\bglpat-[\w-]{20,64}(?![\w-])/g),
  row('slack-token', 'xox', /\bxox[abeoprs]-[A-Za-z0-9-]{24,255}/g),
  row(
    'slack-webhook',
    'hooks.slack.com',
    /(?<=hooks\.slack\.com\/services\/)T[A-Z0-9]{8,12}\/B[A-Z0-9]{8,12}\/[A-Za-z0-9]{20,32}/g,
  ),
  row('stripe-key', '_live_', /\b[sr]k_live_[A-Za-z0-9]{16,255}\b/g),
  row('anthropic-key', 'sk-ant-', /\bsk-ant-[\w-]{32,255}/g),
  row('openai-key', 'sk-', /\bsk-(?:proj|svcacct|admin)-[\w-]{32,255}/g),
  row('google-api-key', 'AIza', /\bAIza[\w-]{35}(?![\w-])/g),
  row('npm-token', 'npm_', /\bnpm_[A-Za-z0-9]{36}\b/g),
  row('pypi-token', 'pypi-AgE', /\bpypi-AgE[\w-]{50,255}/g),
  row('huggingface-token', 'hf_', /\bhf_[A-Za-z]{34}\b/g),
  row('sendgrid-key', 'SG.', /\bSG\.[\w-]{22}\.[\w-]{43}(?![\w-])/g),
  row('digitalocean-token', '_v1_', /\bdo[opr]_v1_[0-9a-f]{64}\b/g),
  row('shopify-token', 'shp', /\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b/g),
  row('telegram-token', ':AA', /\b\d{8,10}:AA[\w-]{33}(?![\w-])/g),
  row('azure-storage-key', 'AccountKey=', /(?<=AccountKey=)[A-Za-z0-9+/]{86}==/g),
  row('vault-token', 'hvs.', /\bhvs\.[\w-]{24,255}/g),
  row('databricks-token', 'dapi', /\bdapi[0-9a-f]{32}\b/g),
  row('linear-key', 'lin_api_', /\blin_api_[A-Za-z0-9]{40}\b/g),
  row('postman-key', 'PMAK-', /\bPMAK-[0-9a-f]{24}-[0-9a-f]{34}\b/g),
  row('aws-access-key', 'A', /\b(?:AKIA|ASIA)[0-9A-Z]{16}(?<!EXAMPLE)\b/g),

  row('aws-access-key', 'A', /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g, loose),
  row('github-token', '_', /\b(?:gh[pousr]|github_pat)_[A-Za-z0-9_]{20,255}/g, loose),
  row('slack-token', 'xox', /\bxox[abeoprs]-[A-Za-z0-9-]{10,255}/g, loose),
  row('huggingface-token', 'hf_', /\bhf_[A-Za-z0-9]{20,255}/g, loose),
  row('api-key', 'k', /\b[srp]k[-_](?:live|test|proj|ant)?[-_A-Za-z0-9]{16,255}/g, loose),
  row('jwt', 'eyJ', /\beyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{0,1000}/g, loose),
  row('credentials', ' ', /(?<=\b(?:Bearer|Basic)\s{1,3})[A-Za-z0-9+/=._:~-]{8,4000}/gi, loose),
  row('password', '://', /(?<=:\/\/[^\s/:@]{1,100}:)(?!\[)[^\s/@]{1,200}(?=@)/g, loose),
  row(
    'secret',
    '',
    /(?<=\b(?:password|passwd|secret|token|api[_-]?key)["']?\s{0,3}[=:]\s{0,3}["']?)(?!\[)[^\s"',;]{4,200}/gi,
    loose,
  ),
]

/** The least length of which four characters tell nothing. */
const minShown = 16

const shown = (kind: string, secret: string): string =>
  kind === 'private-key' || secret.length < minShown ? `[${kind}]` : `[${kind} …${secret.slice(-4).toWellFormed()}]`

/** What some secret has in it. */
const anyHint =
  /PRIVATE KEY|AGE-SECRET|gh[pousr]_|github_pat_|glpat-|xox|slack\.com|[srp]k[-_]|AIza|npm_|pypi-|hf_|SG\.|_v1_|shp(?:at|ca|pa|ss)_|:AA|AccountKey|hvs\.|dapi|lin_api_|PMAK-|AKIA|ASIA|eyJ|bearer|basic|:\/\/|passw|secret|token|api/i

/** The text with every secret masked. */
export function maskSecrets(text: string): string {
  if (!anyHint.test(text)) return text
  let rest = text
  for (const { kind, shape, hint } of secretShapes)
    if (rest.includes(hint)) rest = rest.replace(shape, (secret) => shown(kind, secret))
  return rest
}

/** A secret of which there is no doubt, shown as it would be masked; null if a value holds none. */
export function certainSecret(value: unknown, path = ''): { path: string; shown: string } | null {
  if (typeof value === 'string') {
    if (!anyHint.test(value)) return null
    for (const { kind, shape, hint, certain } of secretShapes) {
      const found = certain && value.includes(hint) ? value.match(shape) : null
      if (found) return { path, shown: shown(kind, found[0]!) }
    }
    return null
  }
  if (value === null || typeof value !== 'object') return null
  for (const [key, item] of Object.entries(value)) {
    const found = certainSecret(key, path) ?? certainSecret(item, path === '' ? key : `${path}.${key}`)
    if (found) return found
  }
  return null
}

/** A copy of the value with every certain and likely secret masked in its texts. */
export function withoutSecretTexts<T>(value: T): T {
  if (typeof value === 'string') return maskSecrets(value) as T
  if (Array.isArray(value)) return value.map(withoutSecretTexts) as T
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutSecretTexts(item)])) as T
}
