/** A value that is at hand as JSON already: passed on as it is, it need not be parsed to be printed again. */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  value(): unknown {
    return JSON.parse(this.text)
  }
}

export const toJson = (value: unknown): string => (value instanceof JsonText ? value.text : JSON.stringify(value))
