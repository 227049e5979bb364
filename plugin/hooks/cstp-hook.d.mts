/** What a hook ends with. */
export interface HookEnd {
  status: number
  out: string
  err: string
}
export function hook(given: {
  client: string
  flags?: { shadow?: boolean; 'fail-open'?: boolean; url?: string | undefined }
  env: Record<string, string | undefined>
  body: string
  cwd: string
  /** Ends the attempt; by default after 4 s. */
  signal?: AbortSignal
}): Promise<HookEnd>
export function repositoryAt(from: string): { project?: string; branch?: string }
