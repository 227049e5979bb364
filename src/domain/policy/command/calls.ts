/** Names of functions, by what they do, in the languages of one-liners. */

const ends = (...names: string[]): RegExp => new RegExp(`(?:^|\\.|::|->)(?:${names.join('|')})$`)
export const runsLine = ends(
  'system',
  'popen\\d?',
  'execSync',
  'getoutput',
  'getstatusoutput',
  'shell_exec',
  'passthru',
  'create_subprocess_shell',
  'os.execute',
  'io.popen',
  'do shell script',
  'sh',
  'shell',
  'cmd',
  'capture\\d',
  'IO.popen',
  'proc_open',
  'pcntl_exec',
)
export const runsWords = ends(
  'spawn',
  'spawnSync',
  'execFile',
  'execFileSync',
  'Popen',
  'run',
  'call',
  'check_call',
  'check_output',
  'exec[lv]p?e?',
  'spawn[lv]p?e?',
  'create_subprocess_exec',
  'posix_spawn',
  'Command',
  'exec',
)
export const processes =
  /(?:subprocess|child_process|os\.|pty\.|asyncio\.|Bun\.|Deno\.|Kernel|Process|Open3|IO\.|commands\.|sh\.|System)/
export const deletes = ends(
  'rmtree',
  'remove',
  'unlink',
  'removedirs',
  'rmdir',
  'rmSync',
  'rm',
  'unlinkSync',
  'rmdirSync',
  'removeSync',
  'remove_tree',
  'rm_rf',
  'rm_r',
  'rm_f',
  'remove_entry\\w*',
  'remove_dir',
  'rimraf(?:Sync|\\.sync)?',
  'File.delete',
  'Dir.delete',
  'Dir.rmdir',
  'delete',
  'deleteSync',
  'emptyDir(?:Sync)?',
  'safe_unlink',
  'os.remove',
  'send2trash',
  'del',
  'deleteRecursively',
  'rm_rf!',
)
export const deletesAll = ends(
  'rmtree',
  'removedirs',
  'rmSync',
  'rm',
  'removeSync',
  'remove_tree',
  'rm_rf',
  'rm_r',
  'rimraf(?:Sync|\\.sync)?',
  'emptyDir(?:Sync)?',
  'remove_entry\\w*',
  'rmdirSync',
  'remove_dir',
)
export const writes = ends(
  'writeFile',
  'writeFileSync',
  'appendFile',
  'appendFileSync',
  'createWriteStream',
  'write_text',
  'write_bytes',
  'file_put_contents',
  'File.write',
  'IO.write',
  'truncate',
  'truncateSync',
  'copyfile',
  'copy',
  'copy2',
  'copytree',
  'cpSync',
  'copyFileSync',
  'rename',
  'renameSync',
  'move',
  'symlink',
  'symlinkSync',
  '[B]un.write',
  'writeTextFile',
)
export const reads = ends(
  'readFile',
  'readFileSync',
  'createReadStream',
  'read_text',
  'read_bytes',
  'file_get_contents',
  'File.read',
  'IO.read',
  'readTextFile',
  'readfile',
  'slurp',
  'fopen',
  '[B]un.file',
  'File.readlines',
  'IO.readlines',
  'load_dotenv',
)
export const opens = ends('open', 'File.open', 'File.new', 'io.open', 'openSync', 'fopen')
export const permits = ends('chmod', 'chmodSync', 'chown', 'chownSync', 'chmod_R', 'chown_R', 'lchown')
export const connects = ends(
  'post',
  'put',
  'patch',
  'urlopen',
  'fetch',
  'request',
  'sendall',
  'connect',
  'create_connection',
  'Net::HTTP.post\\w*',
  'LWP::\\w+',
  'http_build_query',
  'stream_context_create',
  'sendBeacon',
  'send',
)
export const gets = ends(
  'get',
  'urlopen',
  'fetch',
  'request',
  'urlretrieve',
  'URI.open',
  'Net::HTTP.get',
  'open-uri',
  'LWP::Simple::get',
  'file_get_contents',
  'read',
)
export const runsCode = ends(
  'exec',
  'eval',
  'compile',
  'Function',
  'instance_eval',
  'class_eval',
  'runInThisContext',
  'runInNewContext',
  'execfile',
  'loadstring',
  'load',
  'runpy\\.\\w+',
  'assert',
  'module_eval',
)

export const runsSql = ends(
  'execute',
  'executemany',
  'executescript',
  'query',
  'exec',
  'raw',
  'unsafe',
  'run',
  '\\$(?:execute|query)Raw\\w*',
)

/** Whether code runs what another machine sends: as it comes, or in a shell for the other end. @param opaque whether it runs what it makes */
export const runsDownload = (code: string, opaque: boolean): boolean =>
  (/socket/i.test(code) && /\bdup2\b/.test(code)) ||
  (/\b(?:fetch|get)\(/.test(code) && /\.then\(\s*(?:eval|Function)\s*\)/.test(code)) ||
  (opaque && /(?:urlopen|requests\.get|fetch|URI\.open|Net::HTTP)/.test(code) && /\b(?:exec|eval|system)\b/.test(code))

/** Replaces what stands for the home folder. */
export const homes =
  /^(?:(?:os\.)?(?:path\.)?expanduser|Path\.home|pathlib\.Path\.home|(?:os\.)?homedir|os\.homedir|Dir\.home|require\.homedir|getenv|os\.getenv|Deno\.env\.get|File\.expand_path)$/
export const homeNames =
  /^(?:process\.env\.(?:HOME|USERPROFILE)|vim\.env\.HOME|Dir\.home|Bun\.env\.HOME|\$HOME|Deno\.env\.HOME)$/
export const homeTables = /^(?:os\.environ(?:\.get)?|ENV|ENVIRON|\$ENV|process\.env|\$_SERVER|\$_ENV|environ)$/

/** Prints its arguments. */
export const prints =
  /^(?:print|printf|puts|say|echo|p|console\.log|(?:sys|process)\.stdout\.write|(?:\$stdout|STDOUT|\$stdout)\.(?:puts|write|print))$/

const shortened =
  'system|popen|exec|execSync|execFile|execFileSync|spawn|spawnSync|run|call|check_call|check_output|Popen|rmtree|remove|unlink|rmdir|removedirs|rm|rmSync|unlinkSync|rmdirSync|rimraf'
const renames: readonly [shape: RegExp, name: number, alias: number][] = [
  [new RegExp(`\\b(${shortened})\\s{0,4}:\\s{0,4}([A-Za-z_$][\\w$]{0,40})\\s{0,4}[,}]`, 'g'), 1, 2],
  [new RegExp(`\\b(${shortened})\\s{1,4}as\\s{1,4}([A-Za-z_$][\\w$]{0,40})`, 'g'), 1, 2],
  [
    new RegExp(
      `\\b([A-Za-z_$][\\w$]{0,40})\\s{0,4}=\\s{0,4}[\\w.$()'":]{1,60}\\.(${shortened})\\s{0,4}(?=[;\\n]|$)`,
      'g',
    ),
    2,
    1,
  ],
]

/** Other names that the code gives to functions: `{ execSync: e }`, `import system as s`, `s = os.system`. */
export function aliasesIn(code: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const [shape, name, alias] of renames)
    for (const one of code.matchAll(shape)) if (one[alias] !== one[name]) found.set(one[alias]!, one[name]!)
  return found
}
