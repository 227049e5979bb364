/** An agent wherever it is named. */

/** An agent by its name, with a colour and a letter of its own. */
export const Agent = ({ of }: { of: string }) => (
  <span
    class="agent"
    title={of}
    data-sign={[...of.toUpperCase()][0]}
    style={{ '--hue': String([...of].reduce((sum, one) => (31 * sum + one.codePointAt(0)!) % 360, 7)) }}
  >
    <bdi>{of}</bdi>
  </span>
)
