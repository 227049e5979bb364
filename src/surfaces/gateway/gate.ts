/** What the gateway asks about the traffic between a client and a server of tools. */

/** A tool as its server describes it: name, description, schemas, annotations, and whatever else is said of it. */
export interface ToolEntry {
  name: string
  [field: string]: unknown
}

/** A call of a tool. Its id is unique in the session, whatever ids the client uses. */
export interface ToolCall {
  id: string
  tool: string
  input: unknown
  /** What the server says of the tool; a claim. */
  annotations: unknown
  /** `_meta` of the request. */
  meta?: unknown
}

/** An approval that a call waits for. */
export interface WaitingFor {
  id: string
  /** The page on which a person decides. */
  url: string
}

export type Judged =
  /**
   * Notes are for the model, beside the result. If a rule changed the call, `input` is what is sent. `granted` if a person was asked. `name` is
   * that of the tool for the connection, if it is not the client's.
   */
  | { kind: 'forward'; input?: unknown; notes: string[]; granted?: boolean; name?: string }
  | { kind: 'refuse'; reason: string }
  | { kind: 'ask'; reason: string; approval: WaitingFor }

/** How a call ended. `ok` is null if the server went away before it answered, so that nobody knows whether the call took effect. */
export interface Ended {
  ok: boolean | null
  output: unknown
  duration_ms: number
}

/** The server behind the gateway, as it introduced itself. */
export interface ServerIdentity {
  name: string | null
  version: string | null
}

/** Judges and records what one client does with one server. */
export interface Gate {
  /** The tools that the client may see: those that are pinned as they are, and that no rule hides. */
  list(tools: readonly ToolEntry[], server: ServerIdentity): Promise<ToolEntry[]>
  /** Refuses a call of a tool that may not be used as it is, and returns the reason. */
  withheld(call: ToolCall): Promise<string>
  /** Judges a call. A call whose judgement fails is not sent. */
  judge(call: ToolCall): Promise<Judged>
  /** Whether the approval was granted, or refused, or is undecided. */
  answered(approval: WaitingFor): Promise<'granted' | 'refused' | 'undecided'>
  /** Records how a call ended. */
  ended(call: ToolCall, end: Ended): Promise<void>
  /**
   * The result as the client gets it: without secrets, bounded, and with a note about text that reads as instructions, or withheld by a rule.
   * @param call absent for what no call returned
   */
  shown(result: Readonly<Record<string, unknown>>, call?: ToolCall): Promise<Record<string, unknown>>
  /** The session is over. */
  close(): Promise<void>
}

/** A gate that is still being opened: whatever it is asked waits for it. @param opening rejects if nothing can be judged */
export const gateWhenOpen = (opening: Promise<Gate>): Gate => ({
  list: async (...given) => (await opening).list(...given),
  withheld: async (call) => (await opening).withheld(call),
  judge: async (call) => (await opening).judge(call),
  answered: async (approval) => (await opening).answered(approval),
  ended: async (...given) => (await opening).ended(...given),
  shown: async (...given) => (await opening).shown(...given),
  close: async () => (await opening).close(),
})
