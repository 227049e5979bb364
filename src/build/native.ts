/** Bundles onnxruntime's native build, compressed: its addon and the adjacent libraries. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dir, '../..')
const libraries = join(root, 'node_modules/onnxruntime-node/bin/napi-v6')
const unpack = join(root, 'src/drivers/embedder/local/unpack.ts')
const addon = 'onnxruntime_binding.node'

/** The addon first; leaves out copies of libraries under their full version, which are never loaded. */
function filesFor(platform: string, arch: string): string[] {
  const folder = join(libraries, platform, arch)
  if (!existsSync(folder)) return []
  const others = readdirSync(folder).filter((name) => name !== addon && !/\.\d+\.\d+\.\d+\.dylib$/.test(name))
  return [addon, ...others.sort()].map((name) => join(folder, name))
}

/** The module that replaces the addon. @param into folder for the compressed files */
function moduleOf(files: readonly string[], into: string): string {
  if (files.length === 0) return `throw new Error('this binary was built without the native onnxruntime')`
  const text = JSON.stringify
  mkdirSync(into, { recursive: true })
  const packed = files.map((path) => {
    const name = path.slice(path.lastIndexOf('/') + 1)
    writeFileSync(join(into, `${name}.zst`), Bun.zstdCompressSync(readFileSync(path), { level: 9 }))
    return name
  })
  const imports = packed.map(
    (name, at) => `import file${at} from ${text(join(into, `${name}.zst`))} with { type: 'file' }`,
  )
  const list = packed.map((name, at) => `{ name: ${text(name)}, path: file${at} }`)
  return `${imports.join('\n')}
import { loadUnpacked } from ${text(unpack)}
export default loadUnpacked([${list.join(', ')}])
`
}

/** A bundler plugin. @param platform as in `process.platform` @param arch as in `process.arch` @param into folder for generated files */
export const nativeRuntime = (platform: string, arch: string, into: string): Bun.BunPlugin => ({
  name: 'onnxruntime-node',
  setup(build) {
    build.onLoad({ filter: /onnxruntime-node\/dist\/binding\.js$/ }, async ({ path }) => {
      const text = await Bun.file(path).text()
      const contents = text.replace(
        /require\(`[^`]*onnxruntime_binding\.node`\)/,
        `require('cstp:onnxruntime').default`,
      )
      if (contents === text) throw new Error(`${path} loads its addon in another way than the build expects`)
      return { contents, loader: 'js' }
    })
    build.onResolve({ filter: /^cstp:onnxruntime$/ }, ({ path }) => ({ path, namespace: 'native' }))
    build.onLoad({ filter: /./, namespace: 'native' }, () => ({
      contents: moduleOf(filesFor(platform, arch), into),
      loader: 'js',
    }))
  },
})
