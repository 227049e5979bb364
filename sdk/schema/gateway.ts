/** The gateway on the wire: the tools that are pinned. */
import * as v from 'valibot'

const d = v.description

/** One member of a tool's definition that differs. */
export const PinChange = v.object({
  field: v.pipe(
    v.string(),
    d(
      'Member of the definition, such as `description` or `inputSchema`; `server` for how the server is started or reached, `version` for what it calls itself.',
    ),
  ),
  before: v.pipe(v.unknown(), d('As accepted; null if absent.')),
  after: v.pipe(v.unknown(), d('As the server says now; null if absent.')),
})
export type PinChange = v.InferOutput<typeof PinChange>

/** A tool behind the gateway. */
export const ToolPin = v.object({
  server: v.pipe(v.string(), d('Name of the server.')),
  tool: v.pipe(v.string(), d('Name of the tool.')),
  state: v.pipe(
    v.picklist(['accepted', 'changed', 'new']),
    d('`accepted`: used as pinned. `changed` and `new`: withheld until a person accepts it.'),
  ),
  description: v.pipe(
    v.nullable(v.string()),
    d('What the server says of the tool now; invisible characters are shown by their code points.'),
  ),
  findings: v.pipe(v.array(v.string()), d('What in the definition a person does not see, or addresses the model.')),
  changes: v.pipe(v.array(PinChange), d('What differs from the accepted definition; empty for a new tool.')),
  accepted_at: v.pipe(v.nullable(v.string()), d('When it was accepted, RFC 3339; null if never.')),
  accepted_by: v.pipe(
    v.nullable(v.string()),
    d('Who accepted it; null for the first list of a server, which is accepted by itself.'),
  ),
  seen_at: v.pipe(v.string(), d('When the server first described the tool so, RFC 3339.')),
})
export type ToolPin = v.InferOutput<typeof ToolPin>
