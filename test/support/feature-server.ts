/** A server with the features that the protocol's conformance suite asks for, over HTTP, for both families of revisions. */
import { createMcpHandler, isLegacyRequest, Server, type ServerContext } from '@modelcontextprotocol/server'
import { openSessions } from '../../src/surfaces/mcp/sessions.ts'

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='

const text = (value: string) => ({ type: 'text' as const, text: value })
const image = { type: 'image' as const, data: png, mimeType: 'image/png' }
const resource = (uri: string) => ({
  type: 'resource' as const,
  resource: { uri, mimeType: 'text/plain', text: 'This is an embedded resource content.' },
})

const anyInput = { type: 'object' as const }
const schema2020 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object' as const,
  $defs: { address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } } },
  properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
  additionalProperties: false,
}

type Ask = (method: string, params: Record<string, unknown>) => Promise<Record<string, unknown>>
type Tool = (input: Record<string, unknown>, context: ServerContext, ask: Ask) => Promise<object> | object

const choices = {
  untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
  titledSingle: {
    type: 'string',
    oneOf: [
      { const: 'value1', title: 'First Option' },
      { const: 'value2', title: 'Second Option' },
    ],
  },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
  titledMulti: {
    type: 'array',
    items: {
      anyOf: [
        { const: 'value1', title: 'First Choice' },
        { const: 'value2', title: 'Second Choice' },
      ],
    },
  },
}
const defaults = {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
}

const tools: Record<string, { description: string; call: Tool }> = {
  test_simple_text: {
    description: 'Text',
    call: () => ({ content: [text('This is a simple text response for testing.')] }),
  },
  test_image_content: { description: 'Image', call: () => ({ content: [image] }) },
  test_audio_content: {
    description: 'Audio',
    call: () => ({ content: [{ type: 'audio', data: wav, mimeType: 'audio/wav' }] }),
  },
  test_embedded_resource: {
    description: 'Resource',
    call: () => ({ content: [resource('test://embedded-resource')] }),
  },
  test_multiple_content_types: {
    description: 'Mixed',
    call: () => ({ content: [text('Multiple content types test:'), image, resource('test://mixed-content-resource')] }),
  },
  test_error_handling: {
    description: 'Error',
    call: () => ({ content: [text('This tool intentionally returns an error for testing')], isError: true }),
  },
  test_tool_with_logging: {
    description: 'Logging',
    async call(_, { mcpReq }) {
      for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        await mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } })
        await Bun.sleep(20)
      }
      return { content: [text('Tool with logging executed successfully')] }
    },
  },
  test_tool_with_progress: {
    description: 'Progress',
    async call(_, { mcpReq }) {
      const { progressToken } = (mcpReq._meta ?? {}) as { progressToken?: string | number }
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined)
          await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } })
        await Bun.sleep(20)
      }
      return { content: [text(String(progressToken ?? ''))] }
    },
  },
  test_sampling: {
    description: 'Sampling',
    async call({ prompt }, _, ask) {
      const messages = [{ role: 'user', content: text(String(prompt)) }]
      const { content } = await ask('sampling/createMessage', { messages, maxTokens: 100 })
      return { content: [text(`LLM response: ${(content as { text?: string }).text}`)] }
    },
  },
  test_elicitation: {
    description: 'Elicitation',
    async call({ message }, _, ask) {
      const properties = { username: { type: 'string' }, email: { type: 'string' } }
      const requestedSchema = { type: 'object', properties, required: ['username', 'email'] }
      const answer = await ask('elicitation/create', { message, requestedSchema })
      return { content: [text(`User response: ${JSON.stringify(answer)}`)] }
    },
  },
  test_elicitation_sep1034_defaults: {
    description: 'Defaults',
    async call(_, __, ask) {
      const requestedSchema = { type: 'object', properties: defaults, required: [] }
      const answer = await ask('elicitation/create', { message: 'Please review', requestedSchema })
      return { content: [text(`Elicitation completed: ${JSON.stringify(answer)}`)] }
    },
  },
  test_elicitation_sep1330_enums: {
    description: 'Enums',
    async call(_, __, ask) {
      const requestedSchema = { type: 'object', properties: choices, required: [] }
      const answer = await ask('elicitation/create', { message: 'Please select', requestedSchema })
      return { content: [text(`Elicitation completed: ${JSON.stringify(answer)}`)] }
    },
  },
  json_schema_2020_12_tool: { description: 'Schema', call: () => ({ content: [text('ok')] }) },
}

const resources = [
  { uri: 'test://static-text', name: 'Static text', mimeType: 'text/plain' },
  { uri: 'test://static-binary', name: 'Static binary', mimeType: 'image/png' },
  { uri: 'test://watched-resource', name: 'Watched', mimeType: 'text/plain' },
]
const promptNames = [
  'test_simple_prompt',
  'test_prompt_with_arguments',
  'test_prompt_with_embedded_resource',
  'test_prompt_with_image',
]

function createFeatures(): Server {
  const server = new Server(
    { name: 'feature-server', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        prompts: { listChanged: true },
        logging: {},
        completions: {},
      },
    },
  )
  server.setRequestHandler('tools/list', () => ({
    tools: Object.entries(tools).map(([name, { description }]) => ({
      name,
      description,
      inputSchema: name.startsWith('json_schema') ? schema2020 : anyInput,
    })),
  }))
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: input = {} } }, context) => {
    const ask: Ask = (method, params) => context.mcpReq.send({ method, params } as never) as never
    const tool = tools[name]
    if (tool === undefined) return { content: [text(`Unknown tool ${name}`)], isError: true }
    return (await tool.call(input, context, ask)) as never
  })
  server.setRequestHandler('resources/list', () => ({ resources }))
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'Template', mimeType: 'application/json' }],
  }))
  server.setRequestHandler('resources/read', ({ params: { uri } }) => {
    if (uri === 'test://static-binary') return { contents: [{ uri, mimeType: 'image/png', blob: png }] }
    const [, id] = /^test:\/\/template\/(.+)\/data$/.exec(uri) ?? []
    const content =
      id === undefined
        ? 'This is the content of the static text resource.'
        : JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
    return { contents: [{ uri, mimeType: id === undefined ? 'text/plain' : 'application/json', text: content }] }
  })
  server.setRequestHandler('resources/subscribe', () => ({}))
  server.setRequestHandler('resources/unsubscribe', () => ({}))
  server.setRequestHandler('prompts/list', () => ({
    prompts: promptNames.map((name) => ({
      name,
      description: name,
      arguments:
        name === 'test_prompt_with_arguments' ? ['arg1', 'arg2'].map((arg) => ({ name: arg, required: true })) : [],
    })),
  }))
  server.setRequestHandler('prompts/get', ({ params: { name, arguments: given = {} } }) => {
    const user = (content: object) => ({ role: 'user' as const, content: content as never })
    const uri = String(given.resourceUri ?? 'test://embedded-resource')
    const messages =
      name === 'test_prompt_with_arguments'
        ? [user(text(`Prompt with arguments: arg1='${given.arg1}', arg2='${given.arg2}'`))]
        : name === 'test_prompt_with_embedded_resource'
          ? [user(resource(uri)), user(text('Please process the embedded resource above.'))]
          : name === 'test_prompt_with_image'
            ? [user(image), user(text('Please analyze the image above.'))]
            : [user(text('This is a simple prompt for testing.'))]
    return { messages }
  })
  server.setRequestHandler('completion/complete', () => ({ completion: { values: ['paris'], hasMore: false } }))
  server.setRequestHandler('logging/setLevel', () => ({}))
  return server
}

/** Starts the server. Its address answers at `/mcp`. */
export function startFeatureServer(): { url: string; stop(): Promise<void> } {
  const sessions = openSessions({
    createServer: createFeatures,
    idle_ms: 60_000,
    most: 256,
    now: Date.now,
    streams: true,
  })
  const modern = createMcpHandler(createFeatures, { legacy: 'reject' })
  const caller = { agent: 'test', scopes: new Set<never>() }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request, self) {
      self.timeout(request, 0)
      const body = request.method === 'POST' ? await request.json() : undefined
      if (await isLegacyRequest(request, body)) return sessions.handle(request, body, caller)
      return modern.fetch(request, body === undefined ? {} : { parsedBody: body })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/mcp`,
    async stop() {
      await Promise.all([sessions.close(), modern.close()])
      await server.stop(true)
    },
  }
}
