/** Models that agents' clients talk to in tests: each asks for one command, or several times for it, or for tools, and then ends. One per protocol. */

type Json = Record<string, unknown>
const list = (value: unknown): Json[] => (Array.isArray(value) ? value : [])

/** A tool that a model asks for, by the end of its name, in which clients replace characters. */
export interface Wanted {
  name: string
  input: object
}

const isNamed = (name: unknown, wanted: string): boolean =>
  String(name).replaceAll('-', '_').endsWith(wanted.replaceAll('-', '_'))

interface Asked {
  body: Json
  path: string
  command: string
  /** What is asked for instead of the command, one after the other. */
  tools?: readonly Wanted[]
  /** How often the command is asked for. */
  times: number
}

export interface Told {
  answer: Response
  /** What the tool returned to the model so far. */
  results: string[]
}

export interface Model {
  /** Paths of requests for an answer. */
  path: RegExp
  reply(asked: Asked): Told
}

const stream = (events: readonly Json[]): Response => {
  const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
  return new Response(text, { headers: { 'content-type': 'text/event-stream' } })
}

/** The Responses API, as a stream. */
export const responses: Model = {
  path: /responses/,
  reply({ body, command, times, tools }) {
    const outputs = list(body.input).filter(({ type }) => /_output$/.test(String(type)))
    // The tools of a server are in a namespace.
    const all = list(body.tools).flatMap(({ name: namespace, tools: inner, type }) =>
      inner ? list(inner).map(({ name }) => ({ name, namespace })) : [{ name: namespace ?? type }],
    )
    const wanted = tools?.[outputs.length]
    const tool = all.find(({ name }) =>
      tools ? wanted && isNamed(name, wanted.name) : ['exec_command', 'shell_command', 'shell'].includes(String(name)),
    )
    const id = crypto.randomUUID()
    const args =
      wanted?.input ??
      (tool?.name === 'shell'
        ? { command: ['bash', '-lc', command] }
        : tool?.name === 'shell_command'
          ? { command }
          : { cmd: command })
    const item =
      tool && (tools || outputs.length < times)
        ? { type: 'function_call', id: `fc_${id}`, call_id: `call_${id}`, ...tool, arguments: JSON.stringify(args) }
        : { type: 'message', id: `m_${id}`, role: 'assistant', content: [{ type: 'output_text', text: 'done' }] }
    const usage = {
      input_tokens: 1,
      input_tokens_details: null,
      output_tokens: 1,
      output_tokens_details: null,
      total_tokens: 2,
    }
    const answer = stream([
      { type: 'response.created', response: { id } },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { id, usage } },
    ])
    return { answer, results: outputs.map((one) => JSON.stringify(one)) }
  },
}

/** Gemini's generateContent. */
export const content: Model = {
  path: /enerateContent/,
  reply({ body, path, command, times, tools }) {
    const names = list(body.tools).flatMap((tool) => list(tool.functionDeclarations).map(({ name }) => name))
    const results = list(body.contents).flatMap(({ parts }) =>
      list(parts).filter(({ functionResponse }) => functionResponse),
    )
    const wanted = tools?.[results.length]
    // Its own tools come first, and some have the name of one of a server.
    const name = names.findLast((one) => (tools ? wanted && isNamed(one, wanted.name) : one === 'run_shell_command'))
    const wants = name !== undefined && (tools !== undefined || results.length < times)
    const args = wanted?.input ?? { command, description: 'Run it' }
    const parts = wants ? [{ functionCall: { name, args } }] : [{ text: 'done' }]
    const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 }
    const candidates = [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }]
    const text = JSON.stringify({ candidates, usageMetadata })
    const streams = path.includes('stream')
    const type = streams ? 'text/event-stream' : 'application/json'
    const answer = new Response(streams ? `data: ${text}\n\n` : text, { headers: { 'content-type': type } })
    return { answer, results: results.map((one) => JSON.stringify(one)) }
  },
}

/** The Messages API, as a stream or whole. */
export const messages: Model = {
  path: /\/messages$/,
  reply({ body, command, times, tools }) {
    const results = list(body.messages).flatMap(({ content: parts }) =>
      list(parts).filter(({ type }) => type === 'tool_result'),
    )
    const id = crypto.randomUUID().replaceAll('-', '')
    const wanted = tools?.[results.length]
    const name = list(body.tools)
      .map((tool) => String(tool.name))
      .find((one) => (tools ? wanted && isNamed(one, wanted.name) : /^bash$/i.test(one)))
    const input = wanted?.input ?? { command, description: 'Run it' }
    const wants = name !== undefined && (tools !== undefined || results.length < times)
    const block = wants ? { type: 'tool_use', id: `toolu_${id}`, name, input } : { type: 'text', text: 'done' }
    const stop = { stop_reason: wants ? 'tool_use' : 'end_turn', stop_sequence: null }
    const usage = { input_tokens: 1, output_tokens: 1 }
    const message = { id: `msg_${id}`, type: 'message', role: 'assistant', model: body.model, usage }
    const empty = wants ? { ...block, input: {} } : { ...block, text: '' }
    const delta = wants
      ? { type: 'input_json_delta', partial_json: JSON.stringify(input) }
      : { type: 'text_delta', text: 'done' }
    const answer = body.stream
      ? stream([
          { type: 'message_start', message: { ...message, content: [], stop_reason: null, stop_sequence: null } },
          { type: 'content_block_start', index: 0, content_block: empty },
          { type: 'content_block_delta', index: 0, delta },
          { type: 'content_block_stop', index: 0 },
          { type: 'message_delta', delta: stop, usage },
          { type: 'message_stop' },
        ])
      : Response.json({ ...message, content: [block], ...stop })
    return { answer, results: results.map((one) => JSON.stringify(one)) }
  },
}
