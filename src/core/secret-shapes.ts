/**
 * The table of secrets: shapes by kind, as the services document them. A certain one is refused or masked; a likely one is only masked,
 * since something else may look like it. Certain shapes come first: later rows don't change what these have masked.
 */
import { isKey, isRandom, isSet, isValue } from './secret-values.ts'

export interface SecretShape {
  kind: string
  /** Global, and bounded so that crafted text is not scanned over and over. Matches only the secret. */
  shape: RegExp
  /** A literal that is in or before every such secret; empty if {@link namesSecret} shows that there may be one. */
  hint: string
  /** Whether a match is a secret. */
  accepts(value: string): boolean
}

const row = (kind: string, hint: string, shape: RegExp, accepts: SecretShape['accepts'] = () => true): SecretShape => ({
  kind,
  hint,
  shape,
  accepts,
})

/** A token that begins with this literal. */
const token = (kind: string, prefix: string, rest: string, accepts?: SecretShape['accepts']): SecretShape =>
  row(kind, prefix, new RegExp(`\\b${prefix.replaceAll('.', '\\.')}${rest}`, 'g'), accepts)

const each = (kind: string, prefixes: string, rest: string, accepts?: SecretShape['accepts']): SecretShape[] =>
  prefixes.split(' ').map((prefix) => token(kind, prefix, rest, accepts))

/** Shapes that nothing else has: a record that contains one is refused. */
export const certainShapes: readonly SecretShape[] = [
  row(
    'private-key',
    'PRIVATE KEY',
    /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g,
  ),
  row('private-key', 'Private-Lines:', /(?<=\bPrivate-Lines: \d{1,4}\r?\n)[A-Za-z0-9+/=\r\n]{40,8000}/g),
  token('private-key', 'b3BlbnNzaC1rZXktdjE', '[A-Za-z0-9+/]{40,8000}={0,2}'),
  token('cstp-token', 'cstp_', '[0-9a-f]{64}\\b'),
  token('webhook-secret', 'whsec_', '[A-Za-z0-9+/]{32,88}={0,2}'),
  token('age-key', 'AGE-SECRET-KEY-1', '[0-9A-Z]{58}'),
  token('github-token', 'ghs_', '\\d{1,20}_[\\w-]{1,1000}\\.[\\w-]{1,4000}\\.[\\w-]{1,1000}'),
  ...each('github-token', 'ghp_ gho_ ghu_ ghs_ ghr_', '[A-Za-z0-9]{36,255}'),
  token('github-token', 'github_pat_', '\\w{60,255}'),
  ...each(
    'gitlab-token',
    'glpat- gldt- glft- glrt- glptt- glcbt- glimt- gloas- glsoat- glffct- glagent- GR1348941',
    '[\\w.-]{20,320}',
  ),
  ...each('slack-token', 'xoxa xoxb xoxe xoxo xoxp xoxr xoxs', '(?:\\.xox[bp])?-[A-Za-z0-9-]{24,255}'),
  token('slack-token', 'xapp-', '\\d-[A-Z0-9]{4,40}-\\d{4,40}-[A-Za-z0-9]{16,255}'),
  row(
    'slack-webhook',
    'hooks.s',
    /(?<=hooks\.slack\.com\/(?:services|workflows|triggers)\/)[A-Za-z0-9]{8,12}\/[A-Za-z0-9]{8,20}\/[A-Za-z0-9+/]{20,48}/g,
  ),
  row('teams-webhook', 'webhook.o', /(?<=\.webhook\.office\.com\/webhookb2\/)[0-9a-f-]{36}@[\w/-]{40,200}/g),
  ...each('stripe-key', 'sk_live_ rk_live_ sk_prod_ rk_prod_', '[A-Za-z0-9]{16,255}'),
  token('anthropic-key', 'sk-ant-', '[\\w-]{32,255}'),
  ...each('openai-key', 'sk-proj- sk-svcacct- sk-admin-', '[\\w-]{32,255}'),
  row('openai-key', 'T3BlbkFJ', /\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}\b/g),
  token('groq-key', 'gsk_', '[A-Za-z0-9]{52}'),
  token('perplexity-key', 'pplx-', '[A-Za-z0-9]{48}'),
  token('google-api-key', 'AIza', '[\\w-]{35}(?![\\w-])'),
  token('google-client-secret', 'GOCSPX-', '[\\w-]{28}(?![\\w-])'),
  token('google-token', 'ya29.', '[\\w-]{50,2000}'),
  row(
    'discord-webhook',
    '/webhooks/',
    /(?<=\bdiscord(?:app)?\.com\/api\/(?:v\d{1,2}\/)?webhooks\/\d{16,20}\/)[\w-]{60,80}/g,
  ),
  token('npm-token', 'npm_', '[A-Za-z0-9]{36}'),
  token('pypi-token', 'pypi-AgE', '[\\w-]{50,1000}'),
  token('rubygems-key', 'rubygems_', '[0-9a-f]{48}'),
  token('clojars-token', 'CLOJARS_', '[A-Za-z0-9]{60}'),
  ...each('huggingface-token', 'hf_ api_org_', '[A-Za-z]{34}'),
  token('sendgrid-key', 'SG.', '[\\w-]{16,64}\\.[\\w-]{32,64}(?![\\w-])'),
  token('sendinblue-key', 'xkeysib-', '[0-9a-f]{64}-[A-Za-z0-9]{16}'),
  ...each('digitalocean-token', 'doo_v1_ dop_v1_ dor_v1_', '[0-9a-f]{64}'),
  ...each('shopify-token', 'shpat_ shpca_ shppa_ shpss_', '[0-9a-zA-Z]{32,64}'),
  row('telegram-token', ':AA', /\b\d{8,10}:AA[\w-]{33}(?![\w-])/g),
  row('azure-storage-key', 'AccountKey=', /(?<=AccountKey=)[A-Za-z0-9+/]{86}==/g),
  row('azure-client-secret', 'Q~', /(?<![\w~.-])[\w~.]{3}\dQ~[\w~.-]{31,34}(?![\w~.-])/g),
  ...each('vault-token', 'hvs. hvb. hvr.', '[\\w-]{24,300}'),
  row('terraform-token', '.atlasv1.', /\b[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,70}/g),
  token('databricks-token', 'dapi', '[0-9a-f]{32}(?:-\\d)?'),
  token('linear-key', 'lin_api_', '\\w{32,128}'),
  token('notion-token', 'ntn_', '\\d{11}[A-Za-z0-9]{35}'),
  token('figma-token', 'figd_', '[\\w-]{40,200}'),
  token('atlassian-token', 'ATATT3', '[\\w=-]{100,300}'),
  token('airtable-token', 'pat', '[A-Za-z0-9]{14}\\.[0-9a-f]{64}'),
  ...each('harness-key', 'pat. sat.', '[\\w-]{22}\\.[A-Za-z0-9]{24}\\.[A-Za-z0-9]{20}'),
  token('postman-key', 'PMAK-', '[0-9a-f]{24}-[0-9a-f]{34}'),
  token('1password-key', 'A3-', '[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}\\b'),
  token('1password-token', 'ops_eyJ', '[A-Za-z0-9+/]{100,1500}={0,3}'),
  token('docker-token', 'dckr_pat_', '[\\w-]{27}'),
  ...each('vercel-token', 'vcp_ vci_ vca_ vcr_ vck_', '[A-Za-z0-9]{20,60}'),
  token('tailscale-key', 'tskey-', '[a-z]{2,20}-\\w{8,40}-\\w{16,60}'),
  ...each('cloudflare-token', 'cfk_ cfut_ cfat_', '[A-Za-z0-9]{40}[0-9a-f]{8}'),
  token('cloudflare-key', 'v1.0-', '[0-9a-f]{24}-[0-9a-f]{146}'),
  ...each('fly-token', 'fo1_ fm1a_ fm1r_ fm2_', '[\\w+/-]{43,1000}={0,3}'),
  token('heroku-key', 'HRKU-AA', '[\\w-]{58}'),
  token('grafana-token', 'glc_', '[A-Za-z0-9+/]{32,400}={0,3}'),
  token('grafana-token', 'glsa_', '[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}'),
  token('grafana-token', 'eyJrIjoi', '[A-Za-z0-9]{70,400}={0,3}(?![.\\w-])'),
  ...each('newrelic-key', 'NRAK- NRII-', '[A-Za-z0-9-]{27,32}'),
  token('sentry-token', 'sntrys_', '[A-Za-z0-9+/=]{60,500}_[A-Za-z0-9+/]{43}'),
  token('sentry-token', 'sntryu_', '[0-9a-f]{64}'),
  token('dynatrace-token', 'dt0c01.', '[A-Za-z0-9]{24}\\.[A-Za-z0-9]{64}'),
  token('doppler-token', 'dp.pt.', '[A-Za-z0-9]{43}'),
  token('pulumi-token', 'pul-', '[0-9a-f]{40}'),
  token('prefect-token', 'pnu_', '[A-Za-z0-9]{36}'),
  token('readme-key', 'rdme_', '[a-z0-9]{70}'),
  ...each('planetscale-token', 'pscale_tkn_ pscale_oauth_ pscale_pw_', '[\\w=.-]{32,64}'),
  ...each('settlemint-token', 'sm_aat_ sm_pat_ sm_sat_', '[A-Za-z0-9]{16}'),
  ...each('shippo-token', 'shippo_live_ shippo_test_', '[0-9a-fA-F]{40}'),
  ...each('duffel-token', 'duffel_live_ duffel_test_', '[\\w=-]{43}'),
  ...each('easypost-key', 'EZAK EZTK', '[A-Za-z0-9]{54}\\b'),
  ...each('square-token', 'sq0atp- sq0csp-', '[\\w-]{22,60}'),
  ...each('facebook-token', 'EAAC EAAM', '[A-Za-z0-9]{100,400}'),
  token('sourcegraph-token', 'sgp_', '(?:(?:[0-9a-fA-F]{16}|local)_)?[0-9a-fA-F]{40}'),
  token('openshift-token', 'sha256~', '[\\w-]{43}'),
  token('artifactory-key', 'AKCp', '[A-Za-z0-9]{69}\\b'),
  token('artifactory-token', 'cmVmd', '[A-Za-z0-9]{59}\\b'),
  row('maxmind-key', '_mmk', /\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b/g),
  token('infracost-key', 'ico-', '[A-Za-z0-9]{32}\\b'),
  token('scalingo-token', 'tk-us-', '[\\w-]{48}'),
  token('frameio-token', 'fio-u-', '[\\w=-]{64}'),
  token('typeform-token', 'tfp_', '[\\w.=-]{59}'),
  ...each('intra42-secret', 's-s4t2ud- s-s4t2af-', '[0-9a-f]{64}'),
  token('flutterwave-key', 'FLWSECK', '(?:_TEST)?-[A-Za-z0-9]{32}-X'),
  token('adobe-secret', 'p8e-', '[A-Za-z0-9]{32}\\b'),
  token('alibaba-key', 'LTAI', '[A-Za-z0-9]{20}\\b'),
  ...each('aws-access-key', 'AKIA ASIA ABIA ACCA A3T', '[0-9A-Z]{16,17}(?<!EXAMPLE)\\b'),
  token('aws-bedrock-key', 'ABSK', '[A-Za-z0-9+/]{109,269}={0,2}'),
  token('aws-bedrock-key', 'bedrock-api-key-', '[A-Za-z0-9+/]{40,2000}={0,2}'),
  token('supabase-token', 'sbp_', '[0-9a-f]{40}\\b'),
  token('replicate-token', 'r8_', '[A-Za-z0-9]{37}\\b'),
  token('xai-key', 'xai-', '[A-Za-z0-9]{80}\\b'),
  ...each('langsmith-key', 'lsv2_pt_ lsv2_sk_', '[0-9a-f]{32}_[0-9a-f]{10}\\b'),
  token('resend-key', 're_', '[A-Za-z0-9]{8}_[A-Za-z0-9]{24}\\b'),
  token('netlify-token', 'nfp_', '[A-Za-z0-9]{36,40}\\b'),
  token('contentful-token', 'CFPAT-', '[\\w-]{43}(?![\\w-])'),
  token('mapbox-token', 'sk.eyJ', '[\\w-]{40,400}\\.[\\w-]{20,60}'),
  row('paypal-token', 'access_token$', /\baccess_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}\b/g),
]

/** Occurs beside every secret without a hint. */
export const namesSecret =
  /bearer|basic|authorization|curl|passw|passphrase|passwort|sshpass|pwd|[_-]p(?:ass|w)\b|\bpass[=:]|secret|token|credential|cookie|discord|login|mysql|maria|mongo|redis-cli|ldap|key["']?\s{0,3}[:=]/i

const passwordName = '(?:passw(?:or)?d|passwort|passphrase|pwd|(?<=[_-])p(?:ass|w)|(?<![A-Za-z])PASS)'
const secretName = `(?:${passwordName}|secret|token|credentials?|(?:api|access|secret|private|signing|encryption|auth|account|storage)[_-]?key)`

/** Assignments as in settings, programs and requests: `=`, `:=`, `=>`, `?=`, `: text =`, `>`, or the next argument. */
const assigned = '(?::?\\s?[a-z]{1,10}\\s?=|[:?.+]{0,3}=>?|:|>|,(?=\\s?["\']))'
const opening = '\\\\{0,9}["\'`]'
const quote = `(?:${opening})?`
const value = '(?!\\[)[^\\s"\'`,;<\\\\]{4,4000}'
/** A value of a setting, which no space separates from its name. */
const set = '(?:[:?.+]{0,3}=)'

/** Programs whose option -p is followed by a password. */
const clients = 'mysql(?:dump|admin|import|check|show|slap)?|mariadb(?:-dump|-admin)?'

/** Tokens whose shape is ambiguous, and temporary ones: they are masked in what is stored, but do not cause a refusal. */
export const likelyTokens: readonly SecretShape[] = [
  ...each('aws-access-key', 'AKIA ASIA ABIA ACCA AGPA AIDA AROA AIPA ANPA ANVA', '[0-9A-Z]{16}\\b'),
  // Its id was masked before.
  row(
    'aws-secret-key',
    '[aws-access-key',
    /(?<=\[aws-access-key ….{4}\][^A-Za-z0-9+/]{1,40}(?:\w{1,30}[^A-Za-z0-9+/]{1,10}){0,3})[A-Za-z0-9+/]{40}(?![\w+/=])/g,
    isKey,
  ),
  ...each('github-token', 'ghp_ gho_ ghu_ ghs_ ghr_ github_pat_', '\\w{20,255}'),
  token('npm-token', 'npm_', '\\w{36}', isKey),
  row('slack-token', 'xox', /\bxox[abeoprs]-[A-Za-z0-9-]{16,255}/g),
  row('slack-token', 'xapp-', /\bxapp-[A-Za-z0-9-]{16,255}/g),
  row(
    'slack-webhook',
    'hooks.s',
    /(?<=hooks\.slack\.com\/services\/T)[A-Za-z0-9]{1,40}\/B[A-Za-z0-9]{1,40}\/[A-Za-z0-9]{1,40}/gi,
  ),
  row('huggingface-token', 'hf_', /\bhf_[A-Za-z0-9]{20,255}/g),
  row('sendgrid-key', 'SG.', /\bSG\.[\w-]{6,128}\.[\w-]{6,128}/g),
  ...each('api-key', 'sk_ sk- rk_ rk- pk_ pk- key-', '[\\w-]{17,255}', isKey),
  token('webhook-secret', 'whsec_', '[\\w+/=-]{16,255}', isKey),
  token('cstp-token', 'cstp_', '[\\w-]{32,255}', isKey),
  token('square-token', 'EAAA', '[\\w-]{22,60}'),
  token('twilio-key', 'SK', '[0-9a-fA-F]{32}\\b'),
  token('octopus-key', 'API-', '[A-Z0-9]{26}\\b'),
  row('firebase-key', ':APA91', /\b[\w-]{7,40}:APA91[\w-]{100,200}/g),
  row('google-refresh-token', '1//0', /\b1\/\/0[\w-]{40,200}/g),
  row('jwt', 'eyJ', /\beyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{0,1000}/g),
  // Signatures in addresses, which anyone who has them may use for a while.
  row('signature', 'sig=', /(?<=[?&;]sig=)[A-Za-z0-9%+/=_~-]{32,1024}/g),
  row('signature', 'Signature=', /(?<=[?&;](?:X-(?:Amz|Goog)-)?Signature=)[A-Za-z0-9%+/=_~-]{32,1024}/g),
  row('signature', 'X-Amz-Security-Token', /(?<=X-Amz-Security-Token=)[A-Za-z0-9%+/=_~-]{32,4000}/g),
]

/** Values that are secret because of the text before or after them. */
export const namedSecrets: readonly SecretShape[] = [
  row('discord-token', '', /\b[MNO][A-Za-z0-9_-]{23,25}\.[\w-]{6}\.[\w-]{27,38}(?![\w-])/g, isKey),
  row(
    'credentials',
    '',
    /(?<=\bAuthorization["']?\s{0,3}[:=]\s{0,3}["']?(?:Bearer|Basic|token)\s{1,3})[A-Za-z0-9+/=._:~-]{8,4000}/gi,
    isValue,
  ),
  row('credentials', '', /(?<=\b(?:Bearer|Basic)\s{1,3})[A-Za-z0-9+/=._:~-]{8,4000}/gi, isRandom),
  row(
    'credentials',
    '',
    /(?<=\bAuthorization["']?\s{0,3}[:=]\s{0,3}["']?(?:token\s{1,3})?)(?!Bearer|Basic|token)[\w+/=.:~-]{8,4000}/gi,
    isRandom,
  ),
  row(
    'credentials',
    '',
    /(?<=\bcurl\b[^\n]{0,300}\s(?:-u|--user)[= ]{0,3}["']?[^\s"':]{1,100}:)(?!\[)[^\s"']{3,200}/g,
    isValue,
  ),
  row(
    'cookie',
    '',
    /(?<=\b(?:Set-)?Cookie["']?:\s{0,3}["']?(?:[^\n"']{0,1000}?;\s{0,3})?[\w.-]{1,100}=)(?!\[)[^\s;,"']{6,4000}/gi,
    isRandom,
  ),
  row(
    'cookie',
    '',
    /(?<=\s(?:--cookie|-b)[= ]{1,3}["']?(?:[^\n"']{0,1000}?;\s{0,3})?[\w.-]{1,100}=)(?!\[)[^\s;,"']{6,4000}/g,
    isRandom,
  ),
  row(
    'password',
    '',
    new RegExp(`(?<=\\b(?:${clients})\\b[^\\n|;&]{0,200}\\s-p["']?)(?!\\[)[^\\s"'|;&]{3,200}`, 'g'),
    isValue,
  ),
  row('password', '', /(?<=\bsshpass\b[^\n|;&]{0,60}\s-p\s{0,3}["']?)(?!\[)[^\s"'|;&]{3,200}/g, isValue),
  row(
    'password',
    '',
    /(?<=\b(?:docker|podman|helm|oras|crane|mongosh?|mongodump|mongorestore)\b[^\n|;&]{0,40}(?:\blogin\b|mongo)[^\n|;&]{0,200}\s-p\s{1,3}["']?)(?!\[)[^\s"'|;&]{3,200}/g,
    isValue,
  ),
  row(
    'password',
    '',
    /(?<=\bmongo(?:sh|dump|restore)?\b[^\n|;&]{0,200}\s-p\s{1,3}["']?)(?!\[)[^\s"'|;&]{3,200}/g,
    isValue,
  ),
  row('password', '', /(?<=\bredis-cli\b[^\n|;&]{0,200}\s-a\s{1,3}["']?)(?!\[)[^\s"'|;&]{3,200}/g, isValue),
  row(
    'password',
    '',
    /(?<=\bldap(?:search|modify|add|delete|passwd)\b[^\n|;&]{0,200}\s-w\s{1,3}["']?)(?!\[)[^\s"'|;&]{3,200}/g,
    isValue,
  ),
  row(
    'password',
    '',
    /(?<=\bmachine\s{1,4}\S{1,200}\s{1,10}login\s{1,4}\S{1,100}\s{1,10}password\s{1,4})(?!\[)[^\s"']{3,200}/g,
    isValue,
  ),
  row('password', '', /(?<=\slogin\s{1,4}\S{1,100}\s{1,10}password\s{1,4})(?!\[)[^\s"']{3,200}/g, isRandom),
  row('password', '', /(?<=\bpass:)(?!\[)[^\s"':/]{4,200}/g, isRandom),
  // Passwords are often words, so whatever is set is one; other values are in many programs.
  row('secret', '', new RegExp(`(?<=${passwordName}${quote}${set}${quote})${value}`, 'gi'), isSet),
  row(
    'secret',
    '',
    new RegExp(`(?<=${passwordName}${quote}\\s{0,3}${assigned}\\s{0,9}${opening})${value}`, 'gi'),
    isSet,
  ),
  row('secret', '', new RegExp(`(?<=--[\\w-]{0,30}${secretName}(?:\\s{1,3}|=)${quote})${value}`, 'gi'), isRandom),
  row(
    'secret',
    '',
    new RegExp(`(?<=${secretName}${quote}\\s{0,3}${assigned}\\s{0,9}${quote})${value}`, 'gi'),
    isRandom,
  ),
  row('secret', '', new RegExp(`(?<=\\b${secretName}\\s(?:is|was|to)\\s["'\`]?)${value}`, 'gi'), isRandom),
]

/** Credentials in URLs, and in lines of .pgpass. */
export const inAddresses: readonly SecretShape[] = [
  row('password', '://', /(?<=:\/\/[^\s/:@]{0,100}:)(?!\[)[^\s/@]{1,200}(?=@)/g, isValue),
  row('token', '://', /(?<=:\/\/)[^\s/:@[\]]{20,255}(?=(?::\[[^\]]*\])?@)/g),
  row('password', ':5432:', /(?<=:5432:[\w*.-]{1,60}:[\w.-]{1,60}:)(?!\[)[^\s:]{4,200}/g, isValue),
]
