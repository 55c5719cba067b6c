import { describe, expect, it } from "vitest";
import { type FormatName, formatOf } from "../../src/settings/format/registry.ts";

/** Values of one format: valid ones, and invalid ones with a part of the message. */
interface Cases {
  readonly good: readonly string[];
  readonly bad: readonly (readonly [value: string, message: string])[];
}

const long = "x".repeat(5_000);

const CASES: Readonly<Record<FormatName, Cases>> = {
  list: {
    good: ["", "mp3", "mp3,flac", "authorization,x-real-ip", "文件,ñ", "user name,b"],
    bad: [
      ["mp3,,flac", "item 2 is empty"],
      ["mp3,", "item 2 is empty"],
      [",", "item 1 is empty"],
      ["mp3, flac", "item 2 has leading or trailing white space"],
      ["a,b\nc", "item 2 has a line break"],
      [`a,${"x".repeat(256)}`, "item 2 has 256 characters"],
      ["a,".repeat(1_000), "1001 items"],
    ],
  },
  path_lines: {
    good: ["", "/", "/a\n/b c/d", "/ä/文"],
    bad: [
      ["a", 'line 1 must begin with a slash: "a"'],
      ["/a\nb\n/c", "line 2 must begin with a slash"],
      ["/a\n", "line 2 is empty"],
    ],
  },
  link: {
    good: [
      "",
      "https://example.org/logo.svg",
      "HTTP://example.org",
      "/d/logo.svg?sign=1",
      "logo.svg",
      "//cdn.example.org/logo.svg",
      "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>",
      "https://例え.jp/ロゴ.svg",
    ],
    bad: [
      ["javascript:alert(1)", "http:// or https://"],
      ["localhost:80/logo", "http:// or https://"],
      ["ftp://host/a", "http:// or https://"],
      ["https://", "such as https://host:port/path"],
      ["my logo", "without spaces"],
      ["https://a b/", "without spaces"],
    ],
  },
  link_lines: {
    good: ["", "https://a.example/l.svg\nhttps://a.example/d.svg", "/l.svg\n\n/d.svg"],
    bad: [["/l.svg\nftp://host", "line 2 must begin with http:// or https://"]],
  },
  url: {
    good: [
      "",
      "http://localhost:8080/",
      "https://user:p%40ss@host/base",
      "http://[::1]:6800",
      "http://admin:a@b@host:8080/",
    ],
    bad: [
      ["localhost:8080", "must begin with http:// or https://"],
      ["http:host", "must begin with"],
      ["ws://host", "must begin with http:// or https://"],
      ["http://", "must be an address such as http://"],
      ["http://host:99999/", "must be an address"],
      ["http://admin:p#ss@host:1/", "%23"],
      ["http://host/a b", "without spaces"],
      ["not a url", "must begin with"],
    ],
  },
  rpc_url: {
    good: [
      "",
      "http://localhost:6800/jsonrpc",
      "https://h/",
      "ws://h:1/jsonrpc",
      "wss://h/jsonrpc",
    ],
    bad: [
      ["tcp://h", "must begin with http://, https://, ws:// or wss://"],
      ["h:6800", "must begin with"],
    ],
  },
  regex_lines: {
    good: [
      "",
      "\n \n",
      "/\\/README.md/i",
      "/a/\n/b/gimsuy\n",
      "  /a\\/b/  ",
      "//",
      "/a/b/",
      "/(?<=x)(a)\\1/",
      "/\\.(tmp|bak)$/i\r",
      "/(a+)+$/",
    ],
    bad: [
      ["secret", "line 1 must be a regular expression between slashes"],
      ["i", "line 1 must be"],
      ["/a/\n/(/", "line 2 must be a regular expression: Unterminated group"],
      ["/a/\n\n/[/i", "line 3 must be a regular expression: Unterminated character class"],
      ["/*a/", "line 1 must be a regular expression: Nothing to repeat"],
      ["/a/ii", "line 1 has invalid flags"],
      ["/a/x", "line 1 has invalid flags"],
      ["/a/v", "line 1 has invalid flags"],
      ["/a/uv", "line 1 has invalid flags"],
      [`/${long}/`, "line 1 has 5002 characters"],
      ["\n".repeat(1_000), "has 1001 lines"],
      ["(\n)\n[\n]\n{\n}\n*", "line 5 must be"],
      ["(\n)\n[\n]\n{\n}\n*", "other wrong lines: 2"],
      ["(\n)\n[\n]\n{\n}", "and 1 more line is wrong"],
      [`/${"(".repeat(4_000)}/`, "line 1 must be a regular expression"],
    ],
  },
  re2_lines: {
    good: [
      "",
      "a\n\nb",
      "(?i)a(?-i)b",
      "(?U)access_token=(.*)&",
      "(?P<year>\\d+)-(?<month>\\d+)",
      "[[:xdigit:]]{1,4}(?::[^[:space:]]+)?",
      "\\A\\pL\\p{Greek}\\P{^Lu}\\z",
      "\\Qa*b(\\E+",
      "\\x{1F600}\\x41\\07\\-\\/",
      "a{,2}{b}]",
      "[]a-]|[^]]",
      "(a+)+$",
      "(?:x{10}){100}",
      "x{1000}",
    ],
    bad: [
      ["a\n(?=b)", "line 2 looks ahead or behind"],
      ["(?<!a)b", "line 1 looks ahead or behind"],
      ["(a)\\1", "line 1 refers back with \\1"],
      ["(?P=name)", "line 1 has a group (?… that RE2 does not have"],
      ["(?>a)", "line 1 has a group"],
      ["(?<näme>a)", "name"],
      ["(", "without its )"],
      ["a)", "without its ("],
      ["[a", "without its ]"],
      ["a\\", "ends with a single \\"],
      ["\\q", "an escape \\q"],
      ["\\C", "an escape \\C"],
      ["a**", "two repetitions"],
      ["a++", "two repetitions"],
      ["*a", "nothing before it"],
      ["a|+", "nothing before it"],
      ["x{1001}", "more than 1000 times"],
      ["x{3,2}", "the smaller one"],
      ["(?:x{10}){101}", "1010 copies"],
      ["[z-a]", "runs backwards"],
      ["[[:alpha:][:nope:]]", "unknown class"],
      ["\\p{Klingon}", "unknown name"],
      ["\\x{110000}", "beyond the last character"],
      ["(".repeat(2_000), "more than 1000 groups"],
    ],
  },
  string_map: {
    good: ["{}", '{"/": "|"}', '{"a":"","__proto__":"x"}', ' {"a":"b"}\n'],
    bad: [
      ["", "must be JSON: line 1, column 1: it ends too early"],
      ["[]", "not an array"],
      ["null", "not null"],
      ['{"/": 1}', '"/" is a number'],
      ['{"": "x"}', "empty name"],
      ['{"a": "b",}', 'line 1, column 11: unexpected "}"'],
      ["{'a': 'b'}", "must be JSON"],
    ],
  },
  json_object: {
    good: ["{}", '{"obj_count":0,"is_done":true,"last_done_time":null,"error":""}'],
    bad: [
      ["", "must be JSON"],
      ["3", "not a number"],
      ['"{}"', "not text"],
      ["true", "not true or false"],
      [`{"a":${"[".repeat(40)}${"]".repeat(40)}}`, "deeper than 32"],
      ["[".repeat(60_000), "must be JSON"],
    ],
  },
  previews: {
    good: [
      "",
      "{}",
      '{"doc,docx":{"Viewer":"https://example.org/view?src=$e_url"}}',
      '{"mp4":{"PotPlayer":"potplayer://$durl","mpv":"mpv://$edurl"},"/.*/":{}}',
      '{"/^mp[34]$/i":{"Player":"/player?u=$url"}}',
    ],
    bad: [
      ["[]", "must be a JSON object of file extensions"],
      [
        '{"pdf":"https://x"}',
        'the entry for "pdf" must be an object of viewer name to address, not text',
      ],
      ['{"pdf":{"A":1}}', 'the address of "A" as text, not a number'],
      ['{"pdf":{"A":""}}', 'the address of "A" as text, not empty text'],
      ['{"pdf":{"A":" "}}', 'the address of "A" as text, not empty text'],
      ['{"":{"A":"x"}}', "must name file extensions"],
      ['{"/(/":{"A":"x"}}', 'the entry for "/(/" must be a regular expression'],
      ['{"pdf":{', "must be JSON"],
    ],
  },
  buckets: {
    good: ["[]", '[{"name":"a","path":"/b"}]', '[{"name":"","path":"","more":1}]'],
    bad: [
      ["", "must be JSON"],
      ["{}", "must be a JSON array of buckets, not an object"],
      ['[{"name":"a","path":"/"},{"name":"b"}]', "number 2 is not"],
      ["[null]", "number 1 is not"],
      ['[{"name":1,"path":"/"}]', "number 1 is not"],
    ],
  },
  port_map: {
    good: [
      "",
      "2122",
      "2122-2130",
      "3122-3130:2122-2130",
      "21:2121,5000-5010\n6000:7000",
      "1024-65535",
    ],
    bad: [
      ["2122,", 'entry 2, "", must be a port'],
      ["2122, 2123", "entry 2"],
      ["0", "entry 1"],
      ["65536", "entry 1"],
      ["1000-1030", "entry 1"],
      ["2130-2122", "entry 1"],
      ["3000-3010:4000-4009", "exposes 11 ports and listens on 10"],
      ["1:2:3", "entry 1"],
      ["a-b", "entry 1"],
      ["1,".repeat(1_001), "1002 entries"],
    ],
  },
  color: {
    good: ["", "#1890ff", "#FFF", "#12345678", "teal", "rgb(24 144 255 / 50%)", "var(--main)"],
    bad: [
      ["#12345", "must be a CSS colour"],
      ["red'", "must be a CSS colour"],
      ["</script>", "must be a CSS colour"],
      ["#1890ff;", "must be a CSS colour"],
    ],
  },
  charset: {
    good: ["", "IBM437", "GBK", "Shift_JIS", "ISO_8859-1:1987", "utf-8"],
    bad: [
      ["IBM 437", "character set"],
      ["x".repeat(65), "character set"],
    ],
  },
  host: {
    good: ["", "127.0.0.1", "ftp.example.org", "::1", "2001:db8::1", "bücher.example", "my_host"],
    bad: [
      ["http://host", "IP address or a host name"],
      ["host:21", "IP address or a host name"],
      ["a b", "IP address or a host name"],
    ],
  },
  ldap_server: {
    good: [
      "",
      "host:389",
      "ldap://host:389",
      "ldaps://ldap.example.org:636",
      "ldap://[::1]:389",
      "h",
    ],
    bad: [
      ["http://host", "such as ldap://host:389"],
      ["ldap://host:389/dc=x", "such as"],
      ["ldap://", "such as"],
      ["a b", "such as"],
    ],
  },
  ldap_filter: {
    good: ["", "(uid=%s)", "(&(objectClass=person)(sAMAccountName=%s))", "(uid=%[1]s)"],
    bad: [
      ["uid=%s", "in parentheses"],
      ["(uid=name)", "with %s"],
    ],
  },
};

describe.each(Object.entries(CASES) as [FormatName, Cases][])("the format %s", (name, cases) => {
  const { check } = formatOf(name);

  it.each(cases.good)("accepts %j", (value) => {
    expect(check(value)).toBeUndefined();
  });

  it.each(cases.bad)("refuses %.60j with: %s", (value, message) => {
    expect(check(value)).sentence(message);
  });
});

describe("normalizing", () => {
  it.each<[FormatName, string, string]>([
    ["list", " mp3 , flac\n", "mp3,flac"],
    ["list", "", ""],
    ["list", "a,,b", "a,,b"],
    ["path_lines", "/a\r\n\n  /b \n", "/a\n/b"],
    ["url", " http://host/\n", "http://host/"],
    ["link_lines", "/a\r\n/b\n", "/a\n/b"],
    ["regex_lines", "/a/\r\n/b/", "/a/\n/b/"],
    ["re2_lines", " a \r\nb", " a \nb"],
    ["port_map", "1\r\n2\n", "1\n2"],
    ["color", " #fff ", "#fff"],
  ])("of format %s converts %j to %j", (name, value, expected) => {
    expect(formatOf(name).normalize?.(value)).toBe(expected);
  });

  it.each(["previews", "string_map", "json_object", "buckets"] as const)(
    "leaves the text of %s unchanged",
    (name) => {
      expect(formatOf(name).normalize).toBeUndefined();
    },
  );
});
