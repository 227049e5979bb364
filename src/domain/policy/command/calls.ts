/** Names of functions, by what they do, in the languages of one-liners. */

const shape = (names: string): string => names.trim().split(/\s+/).join('|')
const ends = (names: string): RegExp => new RegExp(`(?:^|\\.|::|->)(?:${shape(names)})$`)
/** A name that says what it does without the module before it. */
const alone = (names: string): RegExp => new RegExp(`^(?:${shape(names)})$`)

const shells = `system2? popen\\d? execSync getoutput getstatusoutput shell_exec passthru proc_open pcntl_exec
  create_subprocess_shell capture\\d shell_command\\w* call_process\\w* start_process\\w* run_program
  async_shell_command callCommand readProcess cmd run_shell_command`
const programs = 'execFileSync execFile spawnSync spawn Popen check_call check_output exec[lv]p?e? posix_spawn'
export const runsByName = alone(`${shells} ${programs}`)
export const runsLine = ends(`${shells} os.execute sh shell`)
export const runsWords = ends(`${programs} run call spawn[lv]p?e? create_subprocess_exec Command exec`)
export const processes =
  /(?:subprocess|child_process|os\.|pty\.|asyncio\.|Bun\.|Deno\.|Kernel|Process|Open3|IO\.|commands\.|sh\.|System)/

const trees = `rmtree removedirs rmSync rmdirSync removeSync remove_tree rm_rf rm_r remove_entry\\w* removeItem\\w*
  deleteRecursively deleteTree delete_(?:directory|tree)\\w* deltree rmrf removeDirectory\\w* removePathForcibly
  del_dir_r rmpath RemoveAll remove_dir_all rimraf`
const files = 'remove unlink unlinkSync rm_f delete_file\\w* remove_file removeFile'
export const deletesByName = alone(`${trees} ${files} truncate(?:Sync)?`)
export const deletesAll = ends(`${trees} rimraf(?:Sync|\\.sync) rm emptyDir(?:Sync)? remove_dir`)
export const deletes = ends(`${trees} ${files} rimraf(?:Sync|\\.sync) rm rm_rf! rmdir emptyDir(?:Sync)? remove_dir
  delete deleteSync del safe_unlink send2trash`)
/** Whether a function runs or deletes something. */
export const isFunction = (name: string): boolean => runsLine.test(name) || runsWords.test(name) || deletes.test(name)
export const writes = ends(`writeFile writeFileSync appendFile appendFileSync createWriteStream write_text write_bytes
  file_put_contents File.write IO.write truncate truncateSync copyfile copy copy2 copytree cpSync copyFileSync rename
  renameSync move symlink symlinkSync [B]un.write writeTextFile`)
export const reads =
  ends(`readFile readFileSync createReadStream read_text read_bytes file_get_contents File.read IO.read
  readTextFile readfile slurp fopen [B]un.file File.readlines IO.readlines load_dotenv`)
export const opens = ends('open File.new openSync fopen')
const permissions = 'chmod chmodSync chmod_R chown chownSync chown_R lchown'
export const permits = ends(permissions)
export const permitsByName = alone(permissions)
export const connects = ends(`post put patch urlopen fetch request sendall connect create_connection Net::HTTP.post\\w*
  LWP::\\w+ http_build_query stream_context_create sendBeacon send sendmail send_message`)
export const gets = ends(`get urlopen fetch request urlretrieve URI.open Net::HTTP.get open-uri LWP::Simple::get
  file_get_contents read`)
export const runsCode = ends(`exec eval compile Function instance_eval class_eval module_eval runInThisContext
  runInNewContext execfile loadstring load runpy\\.\\w+ assert`)
export const runsSql = ends('execute executemany executescript query exec raw unsafe run \\$(?:execute|query)Raw\\w*')

/** Whether code runs what another machine sends: as it comes, or in a shell for the other end. @param opaque whether it runs what it makes */
export const runsDownload = (code: string, opaque: boolean): boolean =>
  (/socket/i.test(code) && /\bdup2\b|IO\.popen\(|\bexec\b.{0,20}\/(?:ba|z|da)?sh\b/.test(code)) ||
  (/\b(?:fetch|get)\(/.test(code) && /\.then\(\s*(?:eval|Function)\s*\)/.test(code)) ||
  (opaque && /(?:urlopen|requests\.get|fetch|URI\.open|Net::HTTP)/.test(code) && /\b(?:exec|eval|system)\b/.test(code))

/** Replaces what stands for the home folder. */
export const homes =
  /^(?:(?:os\.)?(?:path\.)?expanduser|(?:\w+\.)?Path\.home|(?:os\.)?homedir|os\.homedir|Dir\.home|require\.homedir|(?:os\.)?[gG]etenv|Deno\.env\.get|File\.expand_path)$/
export const homeNames =
  /^(?:process\.env\.(?:HOME|USERPROFILE)|vim\.env\.HOME|Dir\.home|Bun\.env\.HOME|\$HOME|Deno\.env\.HOME)$/
export const homeTables = /^(?:os\.environ(?:\.get)?|ENV|ENVIRON|\$ENV|process\.env|\$_SERVER|\$_ENV|environ)$/

/** Prints its arguments. */
export const prints =
  /^(?:print|printf|puts|say|echo|p|console\.log|(?:sys|process)\.stdout\.write|(?:\$stdout|STDOUT|\$stdout)\.(?:puts|write|print))$/
