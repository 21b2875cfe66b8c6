<?php
// Writes golden files of Monolog: its formatters Logstash, JSON and Line.
//
// Run it with Debian's php-cli and php-monolog: `php php_loggers.php GOLDEN_FOLDER`. What is expected is written here from what is logged;
// nothing of it is taken from a decoder.

require '/usr/share/php/Monolog/autoload.php';

use Monolog\Formatter\FormatterInterface;
use Monolog\Formatter\JsonFormatter;
use Monolog\Formatter\LineFormatter;
use Monolog\Formatter\LogstashFormatter;
use Monolog\Handler\TestHandler;
use Monolog\Logger;

const LOGGED_MS = 1779999000125;
const LOGGED = '2026-05-28T20:10:00.125000+00:00';
const CALLS = [
    [Logger::INFO, 'INFO', 'added 3 of sku-77', []],
    [Logger::NOTICE, 'INFO', 'cart is new', ['sku' => 'sku-77']],
    [Logger::WARNING, 'WARN', 'stock is low: é 語 🛒', ['sku' => 'sku-77', 'left' => 2]],
    [Logger::ERROR, 'ERROR', "a query:\nselect *\n  from carts", ['sku' => 'sku-78']],
    [Logger::CRITICAL, 'FATAL', 'out of memory', []],
];

/** @return list<string> */
function written(FormatterInterface $formatter): array
{
    $handler = new TestHandler();
    $handler->setFormatter($formatter);
    $logger = new Logger('shop', [$handler]);
    foreach (CALLS as [$level, , $message, $context]) {
        $logger->addRecord($level, $message, $context, at());
    }
    return array_column($handler->getRecords(), 'formatted');
}

function at(): Monolog\DateTimeImmutable
{
    return (new Monolog\DateTimeImmutable(true, new DateTimeZone('UTC')))->modify(LOGGED);
}

/** @return array<string, string> */
function original(int $code, string $level): array
{
    return Logger::getLevelName($code) === $level ? [] : ['level.original' => Logger::getLevelName($code)];
}

/** @return array<string, mixed> */
function in_context(array $context): array
{
    return array_combine(array_map(fn ($name) => "context.$name", array_keys($context)), $context);
}

function save(string $folder, string $name, FormatterInterface $formatter, callable $expected): void
{
    $version = trim((string) shell_exec("dpkg-query -W -f '\${Version}' php-monolog"));
    $head = ['made_by' => 'tests/golden/make/php_loggers.php', 'producer' => "Monolog $version", 'written_from_documentation' => false];
    $lines = [json_encode($head, JSON_UNESCAPED_SLASHES)];
    foreach (written($formatter) as $number => $value) {
        $entry = $expected(...CALLS[$number]) + ['time_ms' => LOGGED_MS, 'service' => '', 'trace' => null];
        $entry['fields'] = (object) $entry['fields'];
        $lines[] = json_encode(
            ['value_base64' => base64_encode($value), 'headers' => [], 'kafka_ms' => 1780000000000, 'format' => 'auto', 'expected' => [$entry]],
            JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE,
        );
    }
    file_put_contents("$folder/$name.jsonl", implode("\n", $lines) . "\n");
}

[, $folder] = $argv;
save($folder, 'monolog_logstash', new LogstashFormatter('cart', 'web-1'), fn ($code, $level, $text, $context) => [
    'text' => $text, 'level' => $level,
    'fields' => ['host.name' => 'web-1', '@version' => 1, 'channel' => 'shop', 'monolog_level' => $code, 'type' => 'cart']
        + original($code, $level) + in_context($context),
]);
save($folder, 'monolog_json', new JsonFormatter(), fn ($code, $level, $text, $context) => [
    'text' => $text, 'level' => $level, 'fields' => ['logger' => 'shop', 'level' => $code] + original($code, $level) + in_context($context),
]);
save($folder, 'monolog_line', new LineFormatter(null, null, true), fn ($code, $level, $text, $context) => [
    'text' => '[' . LOGGED . '] shop.' . Logger::getLevelName($code) . ": $text " . json_encode($context ?: []) . ' []',
    'level' => $level, 'fields' => [],
]);
