/**
 * Loads the files that are named and prints each regular expression that they make by `new RegExp` when they are loaded: its place, source
 * and flags, as JSON. In a process of its own, since files that are loaded already make none.
 */
export {}

const root = process.cwd()
const found: { place: string; source: string; flags: string }[] = []

const made = (expression: RegExp): RegExp => {
  const place = new Error('here').stack?.split('\n').find((line) => /\/(?:src|sdk|plugin)\//.test(line))
  const [, path, line] = /\(?([^\s(]+?):(\d+):\d+\)?$/.exec(place ?? '') ?? []
  if (path !== undefined)
    found.push({ place: `${path.replace(`${root}/`, '')}:${line}`, source: expression.source, flags: expression.flags })
  return expression
}
const native = RegExp
globalThis.RegExp = new Proxy(native, {
  construct: (target, args) => made(Reflect.construct(target, args)),
  apply: (target, _this, args) => made(Reflect.construct(target, args)),
})
for (const path of process.argv.slice(2)) await import(`${root}/${path}`)
console.log(JSON.stringify(found))
process.exit(0)
