const CLASSES: Readonly<Record<string, string>> = { "+": "added-line", "-": "removed-line" };

/** A unified patch, line by line. Its text may be foreign. */
export function Patch(props: { label: string; text: string; testId: string }) {
  const { label, text, testId } = props;
  return (
    <pre class="text patch" tabIndex={0} role="group" aria-label={label} data-testid={testId}>
      {text.split("\n").map((line, at) => (
        <span key={at} class={CLASSES[line.slice(0, 1)] ?? ""}>
          {`${line}\n`}
        </span>
      ))}
    </pre>
  );
}
