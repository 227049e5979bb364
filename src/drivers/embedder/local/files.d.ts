/** An import `with { type: 'file' }` is a path. */

declare module '*.onnx' {
  const path: string
  export default path
}

declare module '*.wasm' {
  const path: string
  export default path
}
