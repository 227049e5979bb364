/** What a hook ends with. */
export interface HookEnd {
  status: number
  out: string
  err: string
}
type Env = Record<string, string | undefined>
interface HookFlags {
  shadow?: boolean
  guard?: boolean
  'fail-open'?: boolean
  shared?: boolean
  url?: string | undefined
  'data-dir'?: string | undefined
}
export function hook(given: {
  client: string
  flags?: HookFlags
  env: Env
  body: string
  cwd: string
  /** Ends the attempt; by default after 4 s. */
  signal?: AbortSignal
}): Promise<HookEnd>
/** The file name, without agent and process, of reports in the folder `reports` of a data folder. */
export function reportsName(client: string, url?: string): string
export function repositoryAt(from: string): { project?: string; branch?: string }
/** What only this machine knows of a call: the root of its project, its rule files, and the script that it runs. */
export function surroundings(
  event: unknown,
  from: string,
  home?: string,
): {
  project_dir?: string
  project_rules?: { file: string; text: string | null }[]
  script_path?: string
  script_text?: string
}
/** The content of `service.json` in a data folder. */
export interface ServiceFile {
  url: string
  /** The program and its first arguments. */
  command: string[]
  /** Settings from the environment in which the folder was set up, without secrets. */
  env: Record<string, string>
  /** Secret settings that must be in the environment of a start. */
  secrets: string[]
  /** Null if it ended by itself. */
  pid: number | null
  started_at: string | null
  stopped_at: string | null
}
export function serviceOf(dir: string): ServiceFile | null
/** A word of a POSIX shell. */
export function quoted(word: string): string
export function startLine(dir: string, service?: ServiceFile | null): string
/** Starts the service of a data folder, unless another process is doing so, and waits until it answers, by default 3 s. Resolves with its address. */
export function startService(dir: string, env: Env, signal?: AbortSignal, ms?: number): Promise<string>
export function isDown(error: unknown): boolean
export function foreign(url: string, dir: string, status: number): string
export function credentials(given: {
  url: string
  agent: string
  token: string
  method: string
  path: string
  body: string | Uint8Array
}): {
  authorization: string
  proves(status: number, proof: string | null | undefined, answer: string | Uint8Array | null): boolean
}
/** Does `work`; if nothing listens at `url` and it is the address of the folder's service, starts it and does `work` once more. */
export function withService<T>(
  given: {
    dir: string
    url: string
    env: Env
    signal?: AbortSignal /** How long a start may take; by default 3 s. */
    ms?: number
  },
  work: (url: string) => Promise<T>,
): Promise<T>
