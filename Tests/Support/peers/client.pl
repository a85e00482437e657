# An app that asks for one URL: client.pl LWP|Tiny URL [FILE]. It prints the body of the answer; with FILE it posts that.
use strict;
use warnings;

my ($how, $url, $file) = @ARGV;
my $body;
if (defined $file) {
    open my $handle, '<:raw', $file or die "$file: $!";
    local $/;
    $body = <$handle>;
}
binmode STDOUT;
if ($how eq 'LWP') {
    require LWP::UserAgent;
    my $ua = LWP::UserAgent->new(timeout => 30);
    $ua->env_proxy;
    my $answer = defined $body ? $ua->post($url, Content => $body) : $ua->get($url);
    die $answer->status_line . "\n" . $answer->content unless $answer->is_success;
    print $answer->content;
} else {
    require HTTP::Tiny;
    my $ua = HTTP::Tiny->new(timeout => 30, verify_SSL => 1);
    my $answer = defined $body ? $ua->post($url, {content => $body}) : $ua->get($url);
    die "$answer->{status} $answer->{reason} $answer->{content}" unless $answer->{success};
    print $answer->{content};
}
