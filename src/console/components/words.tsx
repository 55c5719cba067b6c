/**
 * Text with `code` between backquotes, as written by the service. No part of it is interpreted as
 * HTML.
 */
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
