/** Text of the service with `code` between backquotes. It is not interpreted as HTML. */
export function Words({ text }: { readonly text: string }) {
  return (
    <>
      {text
        .split(/(`[^`]+`|\*\*[^*]+\*\*)/)
        .map((part, index) =>
          index % 2 === 0 ? (
            part
          ) : part.startsWith("`") ? (
            <code key={index}>{part.slice(1, -1)}</code>
          ) : (
            <strong key={index}>{part.slice(2, -2)}</strong>
          ),
        )}
    </>
  );
}
