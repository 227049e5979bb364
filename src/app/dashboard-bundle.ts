/** Bundles the dashboard from source. A compiled program contains the bundle instead, see `src/build/main.ts`. */
import { join } from 'node:path'

/** A text file as sent to the browser. */
interface BundledFile {
  /** File name that includes a hash of the content. */
  name: string
  type: string
  text: string
}

export interface Bundle {
  html: string
  files: BundledFile[]
}

const types: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

const htmlOf = (nameOf: (extension: string) => string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>cstp</title>
<link rel="icon" href="/dashboard/assets/${nameOf('svg')}" type="image/svg+xml">
<link rel="stylesheet" href="/dashboard/assets/${nameOf('css')}">
<script type="module" src="/dashboard/assets/${nameOf('js')}"></script>
</head>
<body><div id="app"></div><noscript>The dashboard needs JavaScript. Everything that it shows is also there for <code>cstp</code> on the command line.</noscript></body>
</html>
`

/** @throws if the dashboard's source can't be bundled */
export async function bundle(): Promise<Bundle> {
  const folder = join(import.meta.dir, '../dashboard')
  const { outputs } = await Bun.build({
    entrypoints: [join(folder, 'main.tsx')],
    target: 'browser',
    minify: true,
    naming: '[name]-[hash].[ext]',
    define: { 'process.env.NODE_ENV': '"production"' },
  })
  const icon = await Bun.file(join(folder, 'icon.svg')).text()
  const made = await Promise.all(
    outputs.map(async (output) => ({ name: output.path.replace(/^.*[\\/]/, ''), text: await output.text() })),
  )
  const files = [...made, { name: `icon-${Bun.hash(icon).toString(36)}.svg`, text: icon }].map(({ name, text }) => ({
    name,
    type: types[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream',
    text,
  }))
  return { html: htmlOf((extension) => files.find(({ name }) => name.endsWith(`.${extension}`))!.name), files }
}
