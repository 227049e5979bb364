/** Secrets made up by their forms: of each kind, what its service or the rules of gitleaks (https://github.com/gitleaks/gitleaks) say it looks like. */
import * as fc from './property.ts'

const [digits, hex] = ['0123456789', '0123456789abcdef']
const lower = 'abcdefghijklmnopqrstuvwxyz'
const upper = lower.toUpperCase()
const alphabets: Record<string, string> = {
  a: lower + upper,
  d: digits,
  h: hex,
  l: lower + digits,
  n: lower + upper + digits,
  u: upper + digits,
  b: `${lower}${upper}${digits}+/`,
  w: `${lower}${upper}${digits}_-`,
}

/** By kind; `<n36>` is 36 characters of an alphabet. */
export const certainForms: Record<string, string[]> = {
  'private-key': [
    '-----BEGIN RSA PRIVATE KEY-----\n<b64>\n<b64>\n-----END RSA PRIVATE KEY-----',
    '-----BEGIN PGP PRIVATE KEY BLOCK-----\n<b64>\n-----END PGP PRIVATE KEY BLOCK-----',
    '-----BEGIN PRIVATE KEY-----\n<b40>',
    'Private-Lines: 8\n<b64>\n<b64>',
    'b3BlbnNzaC1rZXktdjE<b300>',
  ],
  'cstp-token': ['cstp_<h64>'],
  'webhook-secret': ['whsec_<b32>', 'whsec_<b43>='],
  'google-client-secret': ['GOCSPX-<w28>'],
  'google-token': ['ya29.<w120>'],
  'discord-webhook': [
    'https://discord.com/api/webhooks/<d19>/<w68>',
    'https://discordapp.com/api/v10/webhooks/<d18>/<w68>',
  ],
  'supabase-token': ['sbp_<h40>'],
  'replicate-token': ['r8_<n37>'],
  'xai-key': ['xai-<n80>'],
  'langsmith-key': ['lsv2_pt_<h32>_<h10>', 'lsv2_sk_<h32>_<h10>'],
  'resend-key': ['re_<n8>_<n24>'],
  'netlify-token': ['nfp_<n40>'],
  'contentful-token': ['CFPAT-<w43>'],
  'mapbox-token': ['sk.eyJ<n60>.<n22>'],
  'paypal-token': ['access_token$production$<l16>$<h32>'],
  'age-key': ['AGE-SECRET-KEY-1<u58>'],
  'github-token': [
    'ghp_<n36>',
    'gho_<n36>',
    'ghu_<n36>',
    'ghs_<n36>',
    'ghr_<n36>',
    'github_pat_<n82>',
    'ghs_<d6>_<n30>.<n60>.<n43>',
  ],
  'gitlab-token': [
    ...[
      'glpat-<n20>',
      'glpat-<n40>.<l2><l7>',
      'gldt-<n20>',
      'glft-<n20>',
      'glrt-<n20>',
      'glrt-t1_<n27>.<l2><l7>',
      'glptt-<h40>',
    ],
    ...[
      'glcbt-<n3>_<n20>',
      'glimt-<n25>',
      'gloas-<n64>',
      'glsoat-<n20>',
      'glffct-<n20>',
      'glagent-<n50>',
      'GR1348941<n20>',
    ],
  ],
  'slack-token': [
    ...[
      'xoxb-<d12>-<d12>-<n24>',
      'xoxp-<d12>-<d12>-<d12>-<h32>',
      'xoxe-1-<u146>',
      'xoxe.xoxb-1-<u163>',
      'xoxs-<d11>-<d11>-<d11>-<h10>',
    ],
    ...['xapp-1-A<u10>-<d13>-<h64>', 'xoxa-2-<n48>'],
  ],
  'slack-webhook': [
    'https://hooks.slack.com/services/T<u8>/B<u8>/<n24>',
    'https://hooks.slack.com/workflows/T<u8>/A<u8>/<d18>/<n24>',
  ],
  'teams-webhook': [
    'https://acme.webhook.office.com/webhookb2/<h8>-<h4>-<h4>-<h4>-<h12>@<h8>-<h4>-<h4>-<h4>-<h12>/IncomingWebhook/<h32>/<h8>-<h4>-<h4>-<h4>-<h12>',
  ],
  'stripe-key': ['sk_live_<n24>', 'rk_live_<n24>', 'sk_prod_<n99>'],
  'anthropic-key': ['sk-ant-api03-<w93>AA', 'sk-ant-admin01-<w93>AA'],
  'openai-key': ['sk-proj-<w74>T3BlbkFJ<w74>', 'sk-svcacct-<w58>T3BlbkFJ<w58>', 'sk-<n20>T3BlbkFJ<n20>'],
  'groq-key': ['gsk_<n52>'],
  'perplexity-key': ['pplx-<n48>'],
  'google-api-key': ['AIza<n35>'],
  'npm-token': ['npm_<n36>'],
  'pypi-token': ['pypi-AgEIcHlwaS5vcmc<n70>'],
  'rubygems-key': ['rubygems_<h48>'],
  'clojars-token': ['CLOJARS_<l60>'],
  'huggingface-token': ['hf_<a34>', 'api_org_<a34>'],
  'sendgrid-key': ['SG.<n22>.<n43>'],
  'sendinblue-key': ['xkeysib-<h64>-<l16>'],
  'digitalocean-token': ['dop_v1_<h64>', 'doo_v1_<h64>', 'dor_v1_<h64>'],
  'shopify-token': ['shpat_<h32>', 'shpca_<h32>', 'shppa_<h32>', 'shpss_<h32>'],
  'telegram-token': ['<d9>:AA<n33>'],
  'azure-storage-key': ['AccountKey=<b86>=='],
  'azure-client-secret': ['<n3>8Q~<n34>'],
  'vault-token': ['hvs.<n95>', 'hvb.<n140>', 'hvr.<n95>', 'hvs.<n24>'],
  'terraform-token': ['<n14>.atlasv1.<n66>'],
  'databricks-token': ['dapi<h32>', 'dapi<h32>-2'],
  'linear-key': ['lin_api_<n40>'],
  'notion-token': ['ntn_<d11><n35>'],
  'figma-token': ['figd_<n40>'],
  'atlassian-token': ['ATATT3<n186>'],
  'airtable-token': ['pat<n14>.<h64>'],
  'harness-key': ['pat.<n22>.<n24>.<n20>', 'sat.<n22>.<n24>.<n20>'],
  'postman-key': ['PMAK-<h24>-<h34>'],
  '1password-key': ['A3-<u6>-<u11>-<u5>-<u5>-<u5>', 'A3-<u6>-<u6>-<u5>-<u5>-<u5>-<u5>'],
  '1password-token': ['ops_eyJ<b250>'],
  'docker-token': ['dckr_pat_<n27>'],
  'vercel-token': ['vcp_<n40>', 'vck_<n56>'],
  'tailscale-key': ['tskey-auth-<n16>-<n32>', 'tskey-api-<n16>-<n32>'],
  'cloudflare-token': ['cfk_<n40><h8>', 'cfut_<n40><h8>', 'cfat_<n40><h8>'],
  'cloudflare-key': ['v1.0-<h24>-<h146>'],
  'fly-token': ['fo1_<n43>', 'fm1r_<b120>', 'fm2_<b120>='],
  'heroku-key': ['HRKU-AA<n58>'],
  'grafana-token': ['glc_<b60>', 'glsa_<n32>_<h8>', 'eyJrIjoi<n90>'],
  'newrelic-key': ['NRAK-<u27>', 'NRII-<l32>'],
  'sentry-token': ['sntrys_eyJpYXQiO<b40>LCJyZWdpb25fdXJs<b40>_<b43>', 'sntryu_<h64>'],
  'dynatrace-token': ['dt0c01.<u24>.<u64>'],
  'doppler-token': ['dp.pt.<n43>'],
  'pulumi-token': ['pul-<h40>'],
  'prefect-token': ['pnu_<n36>'],
  'readme-key': ['rdme_<l70>'],
  'planetscale-token': ['pscale_tkn_<n43>', 'pscale_oauth_<n43>', 'pscale_pw_<n43>'],
  'settlemint-token': ['sm_aat_<n16>', 'sm_pat_<n16>', 'sm_sat_<n16>'],
  'shippo-token': ['shippo_live_<h40>', 'shippo_test_<h40>'],
  'duffel-token': ['duffel_live_<n43>', 'duffel_test_<n43>'],
  'easypost-key': ['EZAK<n54>', 'EZTK<n54>'],
  'square-token': ['sq0atp-<n22>', 'sq0csp-<n43>'],
  'facebook-token': ['EAAC<n120>', 'EAAM<n120>'],
  'sourcegraph-token': ['sgp_<h40>', 'sgp_local_<h40>', 'sgp_<h16>_<h40>'],
  'openshift-token': ['sha256~<n43>'],
  'artifactory-key': ['AKCp<n69>'],
  'artifactory-token': ['cmVmd<n59>'],
  'maxmind-key': ['<n6>_<n29>_mmk'],
  'infracost-key': ['ico-<n32>'],
  'scalingo-token': ['tk-us-<n48>'],
  'frameio-token': ['fio-u-<n64>'],
  'typeform-token': ['tfp_<n59>'],
  'intra42-secret': ['s-s4t2ud-<h64>', 's-s4t2af-<h64>'],
  'flutterwave-key': ['FLWSECK_TEST-<h32>-X', 'FLWSECK-<h32>-X'],
  'adobe-secret': ['p8e-<l32>'],
  'alibaba-key': ['LTAI<l20>'],
  'aws-access-key': ['AKIA<u16>', 'ASIA<u16>', 'ABIA<u16>', 'ACCA<u16>', 'A3TX<u16>'],
  'aws-bedrock-key': ['ABSK<b120>=', 'bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t<b60>'],
}

/** Masked in what is kept: something else may look like it. */
export const likelyForms: string[] = [
  'sk_test_<n24>',
  'rk_test_<n30>',
  'SK<h32>',
  'EAAA<n40>',
  'API-<u26>',
  'eyJ<n30>.eyJ<n60>.<n43>',
]

/** Values that are secrets by their names, as gitleaks writes its samples: `{i}` is a service, `{s}` the secret. */
export const assignments: string[] = [
  ...[
    '{i}Token="{s}"',
    '{i}Token = {s}',
    '"{i}_token": "{s}"',
    '{I}_TOKEN={s}',
    '<{i}Token>\n    {s}\n</{i}Token>',
    "{i}_token: '{s}'",
  ],
  ...[
    'var {i}Token string = "{s}"',
    '{i}Token := "{s}"',
    '{i}Token := `{s}`',
    'String {i}Token = "{s}";',
    '{i}Token .= "{s}"',
  ],
  ...[
    'System.setProperty("{I}_TOKEN", "{s}")',
    '  "{i}Token" => "{s}"',
    '{I}_TOKEN ?= "{s}"',
    '{I}_TOKEN :::= "{s}"',
    '{\\"{i}_token\\": \\"{s}\\"}',
  ],
  ...[
    'export {I}_API_KEY={s}',
    '{I}_SECRET_ACCESS_KEY={s}',
    'PG{I}PASSWORD={s}',
    'const {i}Secret = "{s}"',
    'deploy --{i}-token {s}',
    '{i} --password={s}',
  ],
  ...[
    'curl -u {i}:{s} https://a.example',
    'curl -H "Authorization: {s}" https://a.example',
    'curl -H "Authorization: token {s}" a.example',
  ],
  ...[
    'curl -H "X-{i}-Api-Key: {s}"',
    'https://{i}:{s}@a.example/x',
    'https://{s}@a.example/x',
    'https://{s}:x-oauth-basic@github.com/',
  ],
]

/** A secret of a form. */
export const secretOf = (form: string): fc.Arbitrary<string> =>
  fc
    .tuple(
      ...form.split(/(<[a-z]\d+>)/).map((part) => {
        const [, of, length] = /^<([a-z])(\d+)>$/.exec(part) ?? []
        if (of === undefined) return fc.constant(part)
        const size = Number(length)
        return fc.string({ unit: fc.constantFrom(...alphabets[of]!), minLength: size, maxLength: size })
      }),
    )
    .map((parts) => parts.join(''))
