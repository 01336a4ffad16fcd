<?php
// Calls a URL repeatedly for some seconds from several processes, each call with a new handle, like a PHP service that keeps
// no state between requests. Prints the time of each call in microseconds, and finally the time from the start of the first
// call to the end of the last, which excludes the start of the processes.
//
//   php caller.php URL SECONDS PROCESSES [CA]

[, $url, $seconds, $processes] = $argv;
$authority = $argv[4] ?? '';
$pipes = [];
for ($number = 0; $number < (int) $processes; $number++) {
    $pair = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    if (pcntl_fork() === 0) {
        fclose($pair[0]);
        call($url, (float) $seconds, $authority, $pair[1]);
        exit(0);
    }
    fclose($pair[1]);
    $pipes[] = $pair[0];
}
$first = PHP_INT_MAX;
$last = 0;
foreach ($pipes as $pipe) {
    [$began, $ended, $output] = explode(' ', stream_get_contents($pipe), 3);
    $first = min($first, (int) $began);
    $last = max($last, (int) $ended);
    echo $output;
}
while (pcntl_wait($status) > 0) {
}
echo 'end ', intdiv($last - $first, 1000), "\n";

function call(string $url, float $seconds, string $authority, $out): void
{
    $end = microtime(true) + $seconds;
    $output = '';
    $first = hrtime(true);
    do {
        $began = hrtime(true);
        $handle = curl_init($url);
        // Without this, curl would offer HTTP/2 over TLS.
        curl_setopt_array($handle, [
            CURLOPT_RETURNTRANSFER => true, CURLOPT_TIMEOUT => 10, CURLOPT_TCP_NODELAY => true,
            // Ignore a proxy of the environment: the call must reach the server of the URL.
            CURLOPT_HTTP_VERSION => CURL_HTTP_VERSION_1_1, CURLOPT_PROXY => '',
        ]);
        if ($authority !== '') {
            curl_setopt($handle, CURLOPT_CAINFO, $authority);
        }
        $response = curl_exec($handle);
        $status = curl_getinfo($handle, CURLINFO_RESPONSE_CODE);
        unset($handle);
        $took = intdiv(hrtime(true) - $began, 1000);
        $output .= ($response === false || $status >= 400 ? 'failed' : $took) . "\n";
    } while (microtime(true) < $end);
    fwrite($out, $first . ' ' . hrtime(true) . ' ' . $output);
}
