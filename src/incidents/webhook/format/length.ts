/** Text of at most `most` UTF-16 units once it is escaped; a cut text ends with `…`. */
export function cutText(
  text: string,
  most: number,
  escaped: (text: string) => string = (plain) => plain,
): string {
  return cutBy(text, (part) => escaped(part).length <= most, escaped);
}

/** Text of at most `most` bytes in UTF-8; a cut text ends with `…`. */
export function cutBytes(text: string, most: number): string {
  return cutBy(text, (part) => Buffer.byteLength(part) <= most);
}

/** The longest beginning of a text that fits, found by halving. */
function cutBy(
  text: string,
  fits: (part: string) => boolean,
  escaped: (text: string) => string = (plain) => plain,
): string {
  if (fits(text)) return escaped(text);
  const begin = (length: number): string => `${text.slice(0, length).toWellFormed()}…`;
  let [shown, tooLong] = [0, text.length];
  while (tooLong - shown > 1) {
    const middle = Math.floor((shown + tooLong) / 2);
    if (fits(begin(middle))) shown = middle;
    else tooLong = middle;
  }
  return escaped(begin(shown));
}
