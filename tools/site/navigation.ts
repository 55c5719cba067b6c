import type { Language } from "../../src/messages/language.ts";

/** A link of a sidebar or the header. */
export interface Link {
  readonly text: string;
  /** Path in the site, such as `/zh-CN/driver/s3`. */
  readonly path: string;
}

/** A part of the sidebar. */
export interface Section {
  readonly text: string;
  readonly links: readonly Link[];
  /** Whether it is folded unless it has the current page. */
  readonly folded?: boolean;
}

/** Pages of a language, for its sidebar. */
export interface Contents {
  /** Names of the pages of `docs/` that this language has, such as `operating`. */
  readonly pages: readonly string[];
  readonly drivers: readonly Link[];
  readonly settings: readonly Link[];
  readonly decisions: readonly Link[];
}

/** Sections of the sidebar, and the pages of each in their order. */
const SECTIONS: Readonly<Record<string, readonly string[]>> = {
  start: ["start", "beside-your-server", "console", "cli"],
  operators: [
    "operating",
    "containers",
    "configuration",
    "state-file",
    "access",
    "backup",
    "upgrading",
    "postgres",
    "audit",
    "metrics",
    "reliability",
    "security",
    "compatibility",
    "changelog",
  ],
  data: ["settings", "drivers", "mounts", "rules", "incidents", "users"],
  developers: ["calls", "errors", "languages", "rest-contract"],
};

const INTERNALS = [
  "architecture",
  "contributing",
  "console-commands",
  "attack",
  "dependencies",
  "performance",
];

const WORDS: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: {
    "section start": "Start",
    "section operators": "Operators",
    "section data": "Settings, drivers, mounts",
    "section developers": "Developers",
    "section internals": "Inside Mooring",
    "section decisions": "Decisions",
    reference: "Reference",
    api: "REST reference",
    start: "Getting started",
    "beside-your-server": "Beside your server",
    console: "Console",
    cli: "Command line",
    operating: "Operating",
    containers: "Docker and NAS",
    configuration: "Configuration",
    "state-file": "One file for a site",
    access: "Access",
    backup: "Backup and restore",
    upgrading: "Upgrading",
    users: "Users of servers",
    postgres: "Many instances (PostgreSQL)",
    audit: "Audit",
    metrics: "Metrics and alerts",
    reliability: "Reliability",
    security: "Security",
    compatibility: "Compatibility",
    changelog: "Changelog",
    settings: "Settings",
    drivers: "Drivers",
    mounts: "Mounts",
    rules: "Folder rules",
    incidents: "Incidents",
    calls: "Calling Mooring",
    errors: "Errors",
    languages: "Languages",
    "rest-contract": "REST contract",
    architecture: "Architecture",
    contributing: "Contributing",
    "console-commands": "Commands and the console",
    attack: "Attacks",
    dependencies: "Dependencies",
    performance: "Performance",
    "driver list": "All drivers",
    "setting list": "All settings",
  },
  "zh-CN": {
    "section start": "开始",
    "section operators": "运维",
    "section data": "设置、驱动、存储",
    "section developers": "开发",
    "section internals": "内部",
    "section decisions": "设计决定",
    reference: "参考",
    api: "REST 接口参考",
    english: "（英文）",
    start: "快速开始",
    "beside-your-server": "与现有服务器配合",
    console: "控制台",
    cli: "命令行",
    operating: "运维",
    containers: "Docker 与 NAS",
    configuration: "配置",
    "state-file": "声明站点的文件",
    access: "令牌与权限",
    backup: "备份与恢复",
    upgrading: "升级",
    users: "服务器的用户",
    postgres: "多个实例（PostgreSQL）",
    audit: "审计",
    metrics: "指标与告警",
    reliability: "可靠性",
    security: "安全",
    compatibility: "兼容性",
    changelog: "更新日志",
    settings: "设置",
    drivers: "驱动",
    mounts: "存储",
    rules: "文件夹规则",
    incidents: "事件",
    calls: "调用接口",
    errors: "错误",
    languages: "语言",
    "rest-contract": "REST 约定",
    architecture: "架构",
    contributing: "参与开发",
    "console-commands": "命令与控制台",
    attack: "攻击测试",
    dependencies: "依赖",
    performance: "性能",
    "driver list": "全部驱动",
    "setting list": "全部设置",
  },
};

/** Path of a language's pages. */
export function rootOf(language: Language): string {
  return language === "en" ? "/" : `/${language}/`;
}

/** The navigation of a language. */
export function navigation(language: Language, contents: Contents) {
  const words = WORDS[language];
  const root = rootOf(language);
  const wordOf = (name: string): string => words[name] ?? name;
  const link = (name: string): Link =>
    contents.pages.includes(name)
      ? { text: wordOf(name), path: `${root}${name}` }
      : { text: `${wordOf(name)}${words["english"] ?? ""}`, path: `/${name}` };
  const section = (name: string, pages: readonly string[]): Section => ({
    text: wordOf(`section ${name}`),
    links: pages.map(link),
  });
  const drivers = { text: wordOf("driver list"), path: `${root}driver/` };
  const settings = { text: wordOf("setting list"), path: `${root}setting/` };
  const header: readonly Link[] = [
    link("start"),
    { ...link("operating"), text: wordOf("section operators") },
    { ...link("calls"), text: wordOf("section developers") },
    drivers,
    settings,
    // The service redirects it to its own page, outside of the site.
    { text: wordOf("api"), path: "/reference" },
  ];
  const guide: readonly Section[] = [
    ...Object.entries(SECTIONS).map(([name, pages]) => section(name, pages)),
    { text: wordOf("reference"), links: [settings, drivers] },
    { ...section("internals", INTERNALS), folded: true },
    { text: wordOf("section decisions"), links: contents.decisions, folded: true },
  ];
  return {
    header,
    /** The sidebar of a page. */
    sidebar: (path: string): readonly Section[] => {
      if (path.startsWith(drivers.path))
        return [{ text: drivers.text, links: [drivers, ...contents.drivers] }];
      if (path.startsWith(settings.path))
        return [{ text: settings.text, links: [settings, ...contents.settings] }];
      return guide;
    },
  };
}
